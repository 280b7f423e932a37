// Lets others into a session.

import { at, get, post, remove } from "./api.js";
import { button, element } from "./dom.js";

const RIGHTS = { read: "may read", approve: "may read and answer questions" };

/** The dialog's content for a session. */
export async function sharing(session) {
  const path = at(session, "/shares");
  const trouble = element("p", { class: "card-trouble", role: "alert" });
  const list = element("ul", { class: "shares" });
  const attempt = async (work) => {
    trouble.textContent = "";
    try {
      await work();
      await draw();
    } catch (problem) {
      trouble.textContent = problem.message;
    }
  };
  const draw = async () => {
    const { shares } = await get(path);
    const rows = shares.map(({ user, right }) => {
      const take = button("Take back", () => attempt(() => remove(`${path}/${encodeURIComponent(user)}`)), { class: "plain", "aria-label": `Take back from ${user}` });
      return element("li", { "data-user": user }, element("strong", {}, user), ` ${RIGHTS[right]} `, take);
    });
    list.replaceChildren(...(rows.length ? rows : [element("li", {}, "Nobody else may see it.")]));
  };
  const user = element("input", { type: "text", name: "user", required: true, autocapitalize: "none", spellcheck: "false", "aria-label": "Name of the user", placeholder: "name" });
  const options = Object.entries(RIGHTS).map(([value, text]) => element("option", { value }, text));
  const right = element("select", { name: "right", "aria-label": "What they may" }, ...options);
  const form = element("form", { class: "share-form" }, user, right, element("button", { type: "submit", class: "primary" }, "Share"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await post(path, { user: user.value.trim(), right: right.value });
      user.value = "";
    });
  });
  await draw();
  return [element("h2", {}, "Share this session"), list, form, trouble];
}
