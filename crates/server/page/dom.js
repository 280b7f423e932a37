// Builds elements. Text is only ever put in as text: nothing that a model, a tool or a file says becomes markup.

/** An element with attributes and children; children are nodes or texts. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

/** Characters that hide, or that change how others are read: each is shown by its number. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f]|(?![ ])\p{Zs}/gu;

/** A text in which nothing hides. Lines and tabs stay. */
export function visible(text) {
  return text.replace(HIDDEN, (found) => (found === "\n" || found === "\t" ? found : `‹U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`));
}

/** Marks that turn the direction in which a text is read. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A text that is read as it is written: whatever would turn it is shown by its number. Everything else stays. */
export function unturned(text) {
  return text.replace(TURNS, visible);
}

export const byId = (id) => document.getElementById(id);

/** A button that is off while what it began is under way. */
export function button(text, act, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", async () => {
    node.disabled = true;
    try {
      await act();
    } finally {
      node.disabled = false;
    }
  });
  return node;
}

/** How long ago, briefly. */
export function ago(milliseconds) {
  const seconds = Math.max(0, (Date.now() - milliseconds) / 1000);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return new Date(milliseconds).toLocaleDateString();
}
