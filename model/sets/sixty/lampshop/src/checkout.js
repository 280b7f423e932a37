import { total } from "./cart.js";
import { formatPrice } from "./util/format.js";

export async function checkout(cart, payment) {
  const amount = total(cart);
  if (amount <= 0) {
    throw new Error("the cart is empty");
  }
  const receipt = await payment.charge(amount);
  return { id: receipt.id, text: `Paid ${formatPrice(amount)}` };
}
