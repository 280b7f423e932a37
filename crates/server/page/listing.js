// A list of things that are taken away one by one, with a form that adds one. What goes wrong is told below it.

import { button, element } from "./dom.js";

/**
 * `read` brings the items, `row` says of one what is shown, its name and how it is taken away, `add` takes the form's values
 * and may come back with a node that is shown once.
 */
export async function listing({ title, empty, read, row, fields, submit, add }) {
  const trouble = element("p", { class: "card-trouble", role: "alert" });
  const list = element("ul", { class: "listing" });
  const told = element("div", { role: "status" });
  const attempt = async (work) => {
    trouble.textContent = "";
    try {
      told.replaceChildren(...[await work()].filter(Boolean));
      await draw();
    } catch (problem) {
      trouble.textContent = problem.message;
    }
  };
  const draw = async () => {
    const rows = (await read()).map((item) => {
      const { name, shown, drop, label } = row(item);
      const take = drop && button(label, () => attempt(drop), { class: "plain", "aria-label": `${label}: ${name}` });
      return element("li", { "data-item": name }, ...shown, " ", take);
    });
    list.replaceChildren(...(rows.length ? rows : [element("li", {}, empty)]));
    list.hidden = !rows.length && !empty;
  };
  const form = element("form", { class: "share-form", autocomplete: "off" }, ...fields, element("button", { type: "submit", class: "primary" }, submit));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const made = await add(Object.fromEntries(new FormData(form)));
      form.reset();
      return made;
    });
  });
  await draw();
  return element("section", {}, element("h2", {}, title), list, form, told, trouble);
}

/** A field of such a form. */
export const field = (name, label, attributes = {}) =>
  element("input", { type: "text", name, required: true, autocapitalize: "none", spellcheck: "false", "aria-label": label, placeholder: label, ...attributes });

/** A choice of such a form, by values and their words. */
export const choice = (name, label, words) =>
  element("select", { name, "aria-label": label }, ...Object.entries(words).map(([value, text]) => element("option", { value }, text)));
