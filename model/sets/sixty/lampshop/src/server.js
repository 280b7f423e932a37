import express from "express";
import { checkout } from "./checkout.js";

const app = express();
app.use(express.json());
app.post("/checkout", async (request, response) => {
  response.json(await checkout(request.body.cart, app.locals.payment));
});
app.listen(4310);
