// Questions: what would happen, and every answer that fits.

import { answer } from "./api.js";
import { button, element, visible } from "./dom.js";
import { codeBlock } from "./markdown.js";

/** A card for a question, with the arguments that its call has now. */
export function card(asked) {
  const { confirmation, approval } = asked;
  const trouble = element("p", { class: "card-trouble", role: "alert" });
  const say = async (outcome) => {
    trouble.textContent = "";
    try {
      await answer(approval, outcome);
    } catch (problem) {
      trouble.textContent = problem.message;
    }
  };
  const body = confirmation.detail.type === "ask_user" ? questions(confirmation.detail.questions, say) : permission(asked, say);
  const title = confirmation.detail.type === "ask_user" ? "The model asks" : `May it ${verb(confirmation)}?`;
  return element(
    "section",
    { class: "card", role: "group", "aria-label": `${title} ${confirmation.title}`, "data-approval": approval },
    element("header", {}, element("strong", {}, title), element("span", { class: "tool" }, confirmation.tool)),
    ...body,
    trouble,
  );
}

function verb({ detail }) {
  return { exec: "run this", edit: "change this file", info: "look this up", mcp: "use this tool" }[detail.type] ?? "do this";
}

/** What a call would do, whole. */
function shown(confirmation) {
  const { detail } = confirmation;
  switch (detail.type) {
    case "exec":
      return [codeBlock(visible(detail.command), "command"), fact("in", detail.cwd)];
    case "edit":
      return [fact("file", detail.path), detail.diff.trim() ? diff(detail.diff) : element("p", { class: "fact" }, "No change: the file stays as it is.")];
    case "info":
      return [element("p", { class: "plain-text" }, visible(detail.text)), ...(detail.urls ?? []).map((url) => fact("address", url))];
    case "mcp":
      return [fact("server", detail.server), codeBlock(visible(JSON.stringify(detail.args, null, 2)), visible(detail.tool))];
    default:
      return [codeBlock(visible(JSON.stringify(detail, null, 2)), detail.type)];
  }
}

function fact(name, value) {
  return element("p", { class: "fact" }, element("span", {}, name), element("code", {}, visible(value)));
}

function permission(asked, say) {
  const { confirmation } = asked;
  const reasons = (confirmation.reasons ?? []).map((reason) => element("li", {}, visible(reason)));
  const holds = [confirmation.rule && `asked by ${visible(confirmation.rule)}`, confirmation.isolation && `isolation: ${confirmation.isolation}`].filter(Boolean).join(" · ");
  const extra = element("div", { class: "extra" });
  const actions = element(
    "div",
    { class: "actions" },
    button("Allow", () => say({ outcome: "proceed_once" }), { class: "primary", "data-answer": "yes" }),
    confirmation.always ? button("Always", () => open(extra, always(confirmation, say)), { "data-answer": "always" }) : null,
    button("Edit", () => open(extra, edit(asked, say)), { "data-answer": "edit" }),
    button("Deny", () => open(extra, deny(say)), { class: "danger", "data-answer": "no" }),
  );
  return [
    ...shown(confirmation),
    reasons.length ? element("ul", { class: "reasons" }, ...reasons) : null,
    holds ? element("p", { class: "holds" }, holds) : null,
    actions,
    extra,
  ].filter(Boolean);
}

function open(place, form) {
  place.replaceChildren(form);
  form.querySelector("textarea, input, button")?.focus();
}

function always(confirmation, say) {
  const server = confirmation.detail.type === "mcp" ? [button(`All of the server ${visible(confirmation.detail.server)}`, () => say({ outcome: "proceed_always_server" }))] : [];
  return element(
    "div",
    { class: "answer-form" },
    element("p", {}, "From now on these rules allow it without asking:"),
    codeBlock(visible(confirmation.always), "rules"),
    element(
      "div",
      { class: "actions" },
      button("In this session", () => say({ outcome: "proceed_always" }), { class: "primary", "data-answer": "always-session" }),
      button("In every session", () => say({ outcome: "proceed_always_and_save" })),
      button("Everything of this tool, in this session", () => say({ outcome: "proceed_always_tool" })),
      ...server,
    ),
  );
}

function edit(asked, say) {
  const { detail } = asked.confirmation;
  const trouble = element("p", { class: "card-trouble", role: "alert" });
  const isFile = detail.type === "edit";
  const text = element("textarea", { rows: 6, spellcheck: "false", class: "code-input", "aria-label": isFile ? "The file's new content" : "The new arguments" });
  text.value = isFile ? detail.after : JSON.stringify(asked.args, null, 2);
  const send = () => {
    if (isFile) return say({ outcome: "modify_with_editor", newContent: text.value });
    try {
      return say({ outcome: "modify", args: JSON.parse(text.value) });
    } catch (error) {
      trouble.textContent = `This is no JSON: ${error.message}`;
    }
  };
  return element("div", { class: "answer-form" }, text, trouble, element("div", { class: "actions" }, button("Allow with this", send, { class: "primary", "data-answer": "edited" })));
}

function deny(say) {
  const reason = element("input", { type: "text", "aria-label": "Why not, for the model", placeholder: "Why not, or what instead (the model goes on with it)" });
  const withReason = () => say(reason.value.trim() ? { outcome: "cancel", reason: reason.value.trim() } : { outcome: "cancel" });
  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      withReason();
    }
  });
  return element("div", { class: "answer-form" }, reason, element("div", { class: "actions" }, button("Deny", withReason, { class: "danger", "data-answer": "denied" }), element("span", { class: "hint" }, "Without a reason the turn ends.")));
}

/** The model's own questions to the person. */
function questions(list, say) {
  const fields = list.map((question) => field(question));
  const send = () => say({ outcome: "answers", answers: fields.map((one) => one.value()) });
  return [
    ...fields.map((one) => one.node),
    element("div", { class: "actions" }, button("Answer", send, { class: "primary" }), button("Stop instead", () => say({ outcome: "cancel" }), { class: "danger" })),
  ];
}

function field(question) {
  const name = crypto.randomUUID?.() ?? String(Math.random());
  const kind = question.multiSelect ? "checkbox" : "radio";
  const labels = question.type === "yesno" ? [{ label: "yes" }, { label: "no" }] : question.options ?? [];
  const inputs = labels.map((option) => ({ option, input: element("input", { type: kind, name, value: option.label }) }));
  const own = element("input", { type: "text", "aria-label": `Your own words: ${question.question}`, placeholder: question.placeholder ? visible(question.placeholder) : labels.length ? "or your own words" : "your words" });
  const rows = inputs.map(({ option, input }) => element("label", { class: "option" }, input, element("span", {}, visible(option.label), option.description ? element("small", {}, ` ${visible(option.description)}`) : null)));
  const open = question.default ? `Left open: ${visible(question.default)}` : question.optional ? "May be left open." : null;
  const node = element("fieldset", {}, element("legend", {}, visible(question.question)), ...rows, own, open ? element("p", { class: "hint left-open" }, open) : null);
  const value = () => own.value.trim() || inputs.filter(({ input }) => input.checked).map(({ option }) => option.label).join(", ");
  return { node, value };
}

const WIDE = "charla-side-by-side";

/** A unified diff, line by line or side by side, as was chosen last. */
export function diff(text) {
  const lines = visible(text).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const place = element("div", { class: "diff-place" });
  const draw = () => {
    const wide = localStorage.getItem(WIDE) === "yes";
    const other = button(wide ? "Line by line" : "Side by side", () => {
      localStorage.setItem(WIDE, wide ? "no" : "yes");
      draw();
    }, { class: "plain", "data-diff": wide ? "inline" : "side" });
    place.replaceChildren(other, wide ? sideBySide(lines) : inline(lines));
  };
  draw();
  return place;
}

/** What each line of a unified diff is. */
function kinds(lines) {
  const body = lines.findIndex((line) => line.startsWith("@@"));
  return lines.map((line, at) => (at < body ? "file" : line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same"));
}

function inline(lines) {
  const kind = kinds(lines);
  const nodes = lines.map((line, at) => element("span", { class: `line ${kind[at]}` }, line || " "));
  return element("pre", { class: "diff", tabindex: "0", "aria-label": "Changes" }, ...nodes);
}

/** Removed lines at the left of the added ones that stand in their place. */
function sideBySide(lines) {
  const kind = kinds(lines);
  const rows = [];
  const cell = (name, text) => element("td", { class: `line ${name}` }, text ?? "");
  for (let at = 0; at < lines.length; ) {
    if (kind[at] === "file" || kind[at] === "hunk") {
      rows.push(element("tr", {}, element("td", { class: `line ${kind[at]}`, colspan: 2 }, lines[at])));
      at += 1;
    } else if (kind[at] === "same") {
      rows.push(element("tr", {}, cell("same", lines[at].slice(1)), cell("same", lines[at].slice(1))));
      at += 1;
    } else {
      const [removed, added] = [[], []];
      for (; kind[at] === "removed"; at += 1) removed.push(lines[at].slice(1));
      for (; kind[at] === "added"; at += 1) added.push(lines[at].slice(1));
      for (let row = 0; row < Math.max(removed.length, added.length); row += 1) {
        rows.push(element("tr", {}, cell(row < removed.length ? "removed" : "none", removed[row]), cell(row < added.length ? "added" : "none", added[row])));
      }
    }
  }
  const head = element("thead", { class: "hidden" }, element("tr", {}, element("th", {}, "Before"), element("th", {}, "After")));
  return element("div", { class: "diff wide", tabindex: "0", role: "group", "aria-label": "Changes, side by side" }, element("table", {}, head, element("tbody", {}, ...rows)));
}
