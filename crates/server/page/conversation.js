// A conversation as its records tell it, and what the running step shows meanwhile.

import { card, diff } from "./card.js";
import { Changes } from "./changes.js";
import { button, element } from "./dom.js";
import { codeBlock, markdown } from "./markdown.js";

const STATUS = {
  validating: "is checked",
  awaiting_approval: "waits for you",
  scheduled: "waits its turn",
  executing: "runs",
  success: "done",
  error: "failed",
  cancelled: "not run",
};

/** How much of an output is shown. */
const SHOWN = 20_000;

/** Shows one session. `acts` are what its buttons do. */
export class Conversation {
  constructor(log, acts) {
    this.log = log;
    this.acts = acts;
    this.clear();
  }

  clear() {
    this.log.replaceChildren();
    this.calls = new Map();
    this.cards = new Map();
    this.begun = new Set();
    /** What calls that have begun would change, until they say what they did; and what each turn has changed. */
    this.planned = new Map();
    this.touched = new Map();
    this.changes = new Map();
    this.folder = "";
    this.queued = new Map();
    this.items = [];
    this.busy = false;
    this.stream = null;
    this.model = "";
    this.mode = "default";
    this.usage = null;
    /** The tokens of each request. */
    this.requests = [];
    this.summarized = false;
  }

  /** The connection is new: what the running step and its tools have shown is told again, from the beginning. */
  again() {
    this.endStream();
    for (const call of this.calls.values()) call.restart();
  }

  /** Takes a record in. */
  record(record) {
    this[record.kind]?.(record);
    this.acts.changed(this);
  }

  /** Takes an event of the running turn in. */
  turn(event) {
    switch (event.type) {
      case "message":
        this.running().say("text", event.content, event.delta);
        break;
      case "thought":
        this.running().say("thoughts", event.content, event.delta);
        break;
      case "tool_output":
        this.calls.get(event.tool_id)?.live(event.content);
        break;
      case "retry":
        if (event.withdraws) this.endStream();
        this.notice(`${event.error.message}; trying again`, "warning");
        break;
      case "model_switched":
        this.notice(`${event.to} goes on: ${event.reason}`);
        break;
      case "notice":
        this.notice(event.message);
        break;
      case "error":
      case "invalid_stream":
      case "context_overflow":
        this.notice(event.error.message, "error");
        break;
    }
  }

  add(seq, node) {
    this.items.push({ seq, node });
    const before = [...this.queued.values()][0];
    this.log.insertBefore(node, before ?? null);
    return node;
  }

  notice(text, kind = "note") {
    this.add(this.last ?? 0, element("p", { class: `notice ${kind}` }, text));
  }

  running() {
    if (!this.stream) {
      this.stream = new Streaming(this.acts.isPlain(this.model));
      this.log.insertBefore(this.stream.node, [...this.queued.values()][0] ?? null);
    }
    return this.stream;
  }

  endStream() {
    this.stream?.end();
    this.stream = null;
  }

  session_started(record) {
    this.model = record.model;
    this.folder = record.cwd;
  }

  turn_started(record) {
    this.busy = true;
    // After a rewind numbers of turns come again.
    this.touched.delete(record.turn);
    this.changes.delete(record.turn);
    this.unqueue(record.id);
    this.add(record.seq, this.said(record.seq, record.prompt, record.by));
  }

  prompt_queued(record) {
    const take = button("Take back", () => this.acts.command({ command: "cancel", target: { prompt: record.prompt } }), { class: "plain" });
    const node = element("article", { class: "message user queued" }, element("p", { class: "by" }, "waits"), ...parts(record.content), take);
    this.queued.set(record.prompt, node);
    this.log.append(node);
  }

  prompt_withdrawn(record) {
    this.unqueue(record.prompt);
  }

  prompt_joined(record) {
    this.unqueue(record.prompt);
    if (record.by !== "charla") this.add(record.seq, this.said(record.seq, record.content, record.by));
  }

  unqueue(prompt) {
    this.queued.get(prompt)?.remove();
    this.queued.delete(prompt);
  }

  said(seq, content, by) {
    const back = button("Rewind to before this", () => this.acts.rewind(seq), { class: "plain", title: "Everything from here on is forgotten" });
    const copy = button("Copy from here", () => this.acts.fork(seq), { class: "plain", title: "A new session with what was said before this" });
    const head = element("p", { class: "by" }, !by || by === this.acts.me() ? "you" : by);
    return element("article", { class: "message user" }, head, ...parts(content), element("div", { class: "tools-row" }, back, copy));
  }

  model_content(record) {
    this.endStream();
    this.usage = record.usage ?? this.usage;
    if (record.usage) this.requests.push(record.usage.promptTokenCount ?? record.usage.totalTokenCount ?? 0);
    const origin = record.content.origin;
    if (origin?.provider) this.model = `${origin.provider}/${origin.model}`;
    const thoughts = record.content.parts.filter((part) => part.thought && part.text).map((part) => part.text).join("\n\n");
    const words = record.content.parts.filter((part) => !part.thought && part.text).map((part) => part.text).join("");
    if (thoughts || words.trim()) {
      const nodes = [];
      if (thoughts) nodes.push(thinking(thoughts));
      if (words.trim()) nodes.push(answer(words, this.acts.isPlain(this.model)));
      this.add(record.seq, element("article", { class: "message model" }, ...nodes));
    }
    for (const part of record.content.parts) {
      if (!part.functionCall) continue;
      const call = new Call(part.functionCall);
      this.calls.set(part.functionCall.id, call);
      this.add(record.seq, call.node);
    }
  }

  call_asked(record) {
    const call = this.calls.get(record.call);
    const asked = { ...record, args: call?.call.args };
    const node = card(asked);
    this.cards.set(record.approval, { node, asked });
    call?.status("awaiting_approval");
    call ? call.node.append(node) : this.add(record.seq, node);
  }

  approval_answered(record) {
    const known = this.cards.get(record.approval);
    if (!known) return;
    known.node.replaceWith(element("p", { class: "answered" }, `${inWords(record.outcome)} · ${record.by === this.acts.me() ? "you" : record.by}`));
    this.cards.delete(record.approval);
    const call = this.calls.get(known.asked.call);
    call?.status(this.begun.has(known.asked.call) ? "executing" : "scheduled");
    if (record.args) call?.changed(record.args);
  }

  call_started(record) {
    this.begun.add(record.call);
    if (record.changes?.length) this.planned.set(record.call, record.changes);
    this.calls.get(record.call)?.status("executing");
  }

  call_ended(record) {
    const cutOff = ["interrupted", "cancelled"].includes(record.error) && this.planned.get(record.call);
    this.touch(record.turn, record.changes?.length ? record.changes : cutOff || []);
    this.planned.delete(record.call);
    this.calls.get(record.call)?.ended(record, record.whole_output && this.acts.output(record.call));
  }

  touch(turn, changes) {
    if (!changes.length) return;
    const paths = this.touched.get(turn) ?? new Set();
    for (const change of changes) paths.add(change.path);
    this.touched.set(turn, paths);
  }

  client_call_started(record) {
    const call = new Call(record.call);
    this.calls.set(record.call.id, call);
    this.add(record.seq, call.node);
    call.status("executing");
  }

  client_call_ended(record) {
    this.call_ended(record);
  }

  turn_resumed() {
    this.busy = true;
  }

  turn_ended(record) {
    this.busy = false;
    this.endStream();
    for (const { node } of this.cards.values()) node.remove();
    this.cards.clear();
    const paths = this.touched.get(record.turn);
    if (paths) {
      const changes = new Changes(record.turn, this.folder, paths, this.acts);
      this.changes.set(record.turn, changes);
      this.add(record.seq, changes.node);
    }
    if (record.end === "withdrawn") this.rewound({ to: this.startOf(record) });
    if (!["finished", "withdrawn"].includes(record.end)) {
      const words = { cancelled: "stopped", error: "failed", interrupted: "interrupted" }[record.end] ?? record.end.replaceAll("_", " ");
      this.add(record.seq, element("p", { class: `notice ${record.end === "error" ? "error" : "note"}` }, [words, record.detail].filter(Boolean).join(": ")));
    }
  }

  startOf() {
    const prompts = this.items.filter((item) => item.node.classList.contains("user"));
    return (prompts.at(-1)?.seq ?? 1) - 1;
  }

  rewound({ to }) {
    for (const item of this.items.filter((one) => one.seq > to)) item.node.remove();
    this.items = this.items.filter((one) => one.seq <= to);
  }

  compressed(record) {
    this.summarized = true;
    const [before, after] = record.tokens;
    const text = record.summary.parts.map((part) => part.text ?? "").join("");
    const node = element("details", { class: "notice note" }, element("summary", {}, `The older part is summarized: ${before} tokens became ${after}`), ...markdown(text));
    this.add(record.seq, node);
  }

  restored(record) {
    this.summarized = false;
    this.add(record.seq, element("p", { class: "notice note" }, "The summary is taken back."));
  }

  mode_changed(record) {
    this.mode = record.mode;
  }

  model_changed(record) {
    if (this.model !== record.model) this.add(record.seq, element("p", { class: "notice note" }, `${record.model} answers from now on.`));
    this.model = record.model;
  }

  changes_undone(record) {
    this.add(record.seq, element("p", { class: "notice note" }, `Taken back: ${files(record)}`));
    this.changes.get(record.turn)?.look();
  }

  changes_redone(record) {
    this.add(record.seq, element("p", { class: "notice note" }, `Brought back: ${files(record)}`));
    this.changes.get(record.turn)?.look();
  }

  imported(record) {
    for (const { node } of this.cards.values()) node.remove();
    this.cards.clear();
    for (const prompt of [...this.queued.keys()]) this.unqueue(prompt);
    if (this.mode !== "plan") this.mode = "default";
    this.add(record.seq, element("p", { class: "notice note" }, `Came from ${record.from}: what was allowed there no longer holds.`));
  }

  rules_saved(record) {
    this.add(record.seq, element("p", { class: "notice note" }, `A rule is kept in ${record.place}.`));
  }

  grant_revoked(record) {
    // A copy begins without it, and the rule that was saved with it still allows it.
    if (record.saved && record.by === "charla") return;
    const what = record.grant.tool || record.grant.server || "what was allowed";
    this.add(record.seq, element("p", { class: "notice note" }, `No longer always: ${what} (by ${record.by}).`));
  }
}

const files = (record) => record.files.map((file) => file.path.split("/").at(-1)).join(", ");

/** What the running step has shown so far; drawn at most once a frame. */
class Streaming {
  constructor(isPlain) {
    this.isPlain = isPlain;
    this.texts = { text: "", thoughts: "" };
    this.thinking = thinking("");
    this.thinking.hidden = true;
    this.body = answer("", isPlain);
    this.node = element("article", { class: "message model streaming", "aria-busy": "true" }, this.thinking, this.body);
  }

  say(what, content, delta) {
    this.texts[what] = delta ? this.texts[what] + content : content;
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = null;
    this.thinking.hidden = !this.texts.thoughts;
    this.thinking.lastChild.textContent = this.texts.thoughts;
    this.body.replaceChildren(...written(this.texts.text, this.isPlain));
  }

  end() {
    cancelAnimationFrame(this.frame);
    this.node.remove();
  }
}

/** What a model says: Markdown, or, of one that hands on what tools return, every character as it is. */
const answer = (text, isPlain) => element("div", { class: isPlain ? "words" : "markdown" }, ...written(text, isPlain));
const written = (text, isPlain) => (isPlain ? [text] : markdown(text));

function thinking(text) {
  return element("details", { class: "thoughts" }, element("summary", {}, "Thoughts"), element("div", {}, text));
}

/** One call of a tool. */
class Call {
  constructor(call) {
    this.call = call;
    this.state = element("span", { class: "state" });
    this.output = element("div", { class: "output" });
    const summary = element("summary", {}, element("span", { class: "tool" }, call.name), element("span", { class: "brief" }, brief(call.args)), this.state);
    this.arguments = element("div", {}, codeBlock(JSON.stringify(call.args, null, 2), "arguments"));
    this.body = element("details", { class: "call-body" }, summary, this.arguments, this.output);
    this.node = element("article", { class: "call" }, this.body);
    this.status("validating");
  }

  status(name) {
    this.state.textContent = STATUS[name] ?? name;
    this.node.dataset.status = name;
  }

  changed(args) {
    this.arguments.replaceChildren(codeBlock(JSON.stringify(args, null, 2), "arguments, changed by a person"));
  }

  live(text) {
    if (!this.terminal) {
      this.terminal = element("pre", { class: "live", tabindex: "0", "aria-label": "Output" });
      this.output.append(this.terminal);
      this.body.open = true;
    }
    this.terminal.textContent = (this.terminal.textContent + plain(text)).slice(-SHOWN);
    this.terminal.scrollTop = this.terminal.scrollHeight;
  }

  restart() {
    if (this.terminal) this.terminal.textContent = "";
  }

  /** `whole` is where all of its output is, if more was printed than is told. */
  ended(record, whole) {
    const failed = failure(record.display);
    this.status(failed ? "error" : record.status);
    if (failed) this.state.textContent = failed;
    this.body.open = false;
    this.terminal = null;
    const link = whole && element("a", { class: "whole", href: whole, download: "output.txt" }, "All of the output");
    this.output.replaceChildren(...result(record), ...(link ? [link] : []));
  }
}

/** Sequences for terminals mean nothing here. */
const plain = (text) => text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)/g, "").replaceAll("\r\n", "\n");

function result(record) {
  const { display, response } = record;
  if (display?.type === "diff") return [diff(display.diff)];
  if (display?.type === "todos") {
    const mark = { completed: "☑", in_progress: "▸", cancelled: "☒" };
    return [element("ul", { class: "todos" }, ...display.items.map((item) => element("li", {}, `${mark[item.status] ?? "☐"} ${item.description}`)))];
  }
  if (display?.type === "table") {
    const head = element("tr", {}, ...display.columns.map((column) => element("th", { scope: "col" }, column)));
    const rows = display.rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, String(cell)))));
    return [element("div", { class: "table", tabindex: "0" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)))];
  }
  const text = display?.type === "text" ? display.text : display?.type === "command" ? display.output : words(response);
  const cut = text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… (${text.length - SHOWN} more characters)` : text;
  return cut.trim() ? [element("pre", { class: "live", tabindex: "0", "aria-label": "Result" }, plain(cut))] : [];
}

/** How a command failed; nothing for one that did not, and for everything else. */
const failure = (display) => (display?.type !== "command" ? "" : display.signal ? `signal ${display.signal}` : display.code ? `exit ${display.code}` : "");

function words(response) {
  const value = response.response;
  if (typeof value?.output === "string") return value.output;
  if (typeof value?.error === "string") return value.error;
  return JSON.stringify(value ?? null, null, 2);
}

function brief(args) {
  const first = Object.values(args ?? {}).find((value) => typeof value === "string") ?? "";
  return first.split("\n")[0].slice(0, 120);
}

/** A prompt's own parts: not the note that the session puts before them for the model. */
const own = ({ parts }) => (parts.length > 1 && parts[0].text?.startsWith("[Note: ") ? parts.slice(1) : parts);

/** What somebody said: words, and what they attached. */
function parts(content) {
  return own(content).map((part) => {
    if (part.text !== undefined) return element("div", { class: "words" }, part.text);
    const data = part.inlineData;
    if (data?.mimeType?.match(/^image\/(png|jpeg|gif|webp)$/)) {
      return element("img", { src: `data:${data.mimeType};base64,${data.data}`, alt: "attached picture", class: "picture" });
    }
    return element("p", { class: "fact" }, `attached: ${data?.mimeType ?? "a file"}`);
  });
}

function inWords(outcome) {
  const name = typeof outcome === "string" ? outcome : outcome.outcome;
  const words = {
    proceed_once: "Allowed",
    proceed_always: "Always allowed in this session",
    proceed_always_and_save: "Always allowed",
    proceed_always_tool: "Everything of this tool allowed in this session",
    proceed_always_server: "Everything of this server allowed in this session",
    modify: "Allowed with other arguments",
    modify_with_editor: "Allowed with another content",
    answers: "Answered",
    cancel: "Denied",
  };
  const more = outcome.reason ?? outcome.answers?.join(", ");
  return more ? `${words[name] ?? name}: ${more}` : words[name] ?? name;
}


