// The page: sessions at the side, one conversation, questions that wait across all of them.

import { account } from "./account.js";
import { Events, at, command, get, post, remove, wholeOutput } from "./api.js";
import { card } from "./card.js";
import { Conversation } from "./conversation.js";
import { ago, byId, element } from "./dom.js";
import { figures, fill } from "./figures.js";
import * as notify from "./notify.js";
import { sharing } from "./sharing.js";

const state = { session: null, overview: { sessions: [], approvals: [] }, events: null, attached: [], search: "" };

/** How soon a session is asked for again that somebody else has open. */
const ASK_AGAIN = 1000;

const conversation = new Conversation(byId("log"), {
  command: (value) => attempt(() => command(state.session, value)),
  rewind: (prompt) => attempt(async () => command(state.session, { command: "rewind", to: await before(prompt) })),
  fork: (prompt) => attempt(async () => fork(await before(prompt))),
  changed: () => drawSession(),
  me: () => state.me?.name,
  isPlain: (model) => model === state.me?.plain_model,
  output: (call) => wholeOutput(state.session, call),
  // What cannot be told, of a session that is left meanwhile, say, leaves the names of the files.
  changes: (turn) => get(at(state.session, `/changes/${turn}`)).catch(() => undefined),
});

/** Does something; what goes wrong is shown. */
async function attempt(work) {
  trouble("");
  try {
    return await work();
  } catch (problem) {
    trouble(problem.message);
    return undefined;
  }
}

/** Says what went wrong, or what is to be known. */
function trouble(text, kind = "") {
  byId("trouble").textContent = text;
  byId("trouble").className = kind;
  byId("trouble").hidden = !text;
}

function open(session) {
  if (state.session === session && state.events) return;
  state.session = session;
  state.window = undefined;
  state.windowOf = undefined;
  state.asked = null;
  state.events?.stop();
  conversation.clear();
  trouble("");
  location.hash = session ? encodeURIComponent(session) : "";
  state.following = true;
  state.events = new Events(session, {
    overview: (overview) => {
      state.overview = overview;
      if (state.found) search();
      drawOverview();
      lookAtWindow();
    },
    record: (record) => {
      conversation.record(record);
      lookAtWindow();
      follow();
    },
    turn: (event) => {
      conversation.turn(event);
      follow();
    },
    broken: (why) => trouble(why),
    anew: () => conversation.clear(),
    database: ({ up }) => trouble(up ? "" : "The database cannot be reached. Everything waits for it, nothing is lost."),
    open: () => {
      document.body.classList.remove("lost");
      conversation.again();
    },
    gone: () => {
      open(null);
      trouble("That session is not there any more.");
    },
    lost: () => document.body.classList.add("lost"),
  });
  drawDefaults();
  if (!session) begin();
  showInbox(false);
  drawOverview();
  drawSession();
  closeSide();
  byId("prompt").focus();
}

/** A new session is as the settings of its folder have it, until something else is chosen here. */
function begin() {
  state.mode = undefined;
  byId("folder").value = state.me?.workspace ?? "";
  byId("model").value = "";
  attempt(readDefaults);
}

/** What the settings of the folder say to what was not chosen. */
async function readDefaults() {
  state.defaults = {};
  const folder = byId("folder").value.trim();
  const { settings } = await get(folder ? `/settings?workspace=${encodeURIComponent(folder)}` : "/settings");
  const value = (key) => settings.find((one) => one.key === key)?.value;
  state.defaults = { model: value("model.name"), mode: value("tools.approvalMode") };
  drawDefaults();
  drawSession();
}

/** The first choice of a new session's model is none; a session that is there has one. */
function drawDefaults() {
  const select = byId("model");
  const known = [...select.options].find((option) => option.value === "");
  if (state.session) return known?.remove();
  const none = known ?? element("option", { value: "" });
  none.textContent = state.defaults?.model ? `${state.defaults.model} (settings)` : "the settings' model";
  if (known) return undefined;
  select.prepend(none);
  select.value = "";
  return undefined;
}

/** Keeps the end in view, unless somebody reads further up. */
function follow() {
  const view = byId("conversation");
  if (!state.following || state.drawing) return;
  state.drawing = requestAnimationFrame(() => {
    state.drawing = null;
    view.scrollTop = view.scrollHeight;
  });
}

window.addEventListener("resize", follow);
byId("conversation").addEventListener("scroll", () => {
  const view = byId("conversation");
  state.following = view.scrollHeight - view.scrollTop - view.clientHeight < 80;
});

function entry() {
  return state.overview.sessions.find((one) => one.session === state.session);
}

function drawOverview() {
  const { sessions, approvals } = state.overview;
  const shown = state.found ?? sessions;
  const none = state.found && !shown.length ? [element("li", { class: "empty" }, "Nothing found.")] : [];
  byId("sessions").replaceChildren(...shown.map(sessionRow), ...none);
  byId("inbox-count").textContent = String(approvals.length);
  byId("inbox-count").hidden = approvals.length === 0;
  drawInbox();
  drawSession();
  notify.tell(approvals);
}

/** Who has a session open that does not run here. */
const inUse = (one) => (one.node ? `at node ${one.node.slice(-8)}` : "in a terminal");

function sessionRow(one) {
  const waits = one.waiting ? element("span", { class: "count" }, String(one.waiting)) : null;
  const busy = one.turn_open && !one.waiting ? element("span", { class: "dot", title: "a turn is open" }) : null;
  const about = [one.shared && `of ${one.shared.owner}`, one.started.cwd.split("/").at(-1), one.state === "in_use" && inUse(one), ago(one.modified)].filter(Boolean).join(" · ");
  const row = element(
    "a",
    { href: `#${encodeURIComponent(one.session)}`, "aria-current": one.session === state.session ? "page" : null, "data-session": one.session },
    element("span", { class: "name" }, one.title || "New session"),
    waits ?? busy,
    element("small", {}, about),
  );
  return element("li", {}, row);
}

/** Cards are kept while their question waits, so that what is typed into them stays. */
const inboxCards = new Map();

function drawInbox() {
  const inbox = byId("inbox");
  const waiting = new Set(state.overview.approvals.map((one) => one.asked.approval));
  for (const [approval, node] of inboxCards) {
    if (waiting.has(approval)) continue;
    node.remove();
    inboxCards.delete(approval);
  }
  for (const one of state.overview.approvals) {
    if (inboxCards.has(one.asked.approval)) continue;
    const where = element("a", { href: `#${encodeURIComponent(one.session)}` }, one.title || one.session);
    const shared = state.overview.sessions.some((known) => known.session === one.session && known.shared);
    const node = element("div", { class: shared ? "waiting shared" : "waiting" }, element("p", { class: "from" }, where, element("small", {}, ` ${one.folder}`)), card({ ...one.asked, args: one.args }));
    inboxCards.set(one.asked.approval, node);
    inbox.append(node);
  }
  inbox.querySelector(".empty")?.remove();
  if (!waiting.size) inbox.append(element("p", { class: "empty" }, "Nothing waits for you."));
}

function drawSession() {
  const one = entry();
  const approvals = state.overview.approvals.length;
  const inbox = !byId("inbox").hidden;
  const title = inbox ? "Questions" : one?.title || (state.session ? "New session" : "Charla");
  // What is chosen in the head is chosen for the session: over the questions of all of them there is nothing to choose.
  document.body.classList.toggle("asks", inbox);
  document.title = `${approvals ? `(${approvals}) ` : ""}${title === "Charla" ? title : `${title} · Charla`}`;
  byId("title").textContent = title;
  byId("place").textContent = inbox ? "" : one?.started.cwd ?? "";
  byId("folder").parentNode.hidden = Boolean(state.session) || inbox;
  byId("no-key").hidden = Boolean(state.session) || inbox || state.hasKey !== false || state.me?.role === "viewer";
  const badge = byId("badge");
  const left = one?.turn_open && one.state === "stored";
  badge.hidden = !(one?.state === "in_use" || left);
  badge.textContent = left ? "a turn was left open" : `open ${one ? inUse(one) : ""}`;
  drawTaking(one);
  for (const id of ["more", "badge"]) byId(id).classList.toggle("off", !state.session);
  byId("stop").hidden = !conversation.busy || left;
  byId("mode").value = state.session ? conversation.mode : state.mode ?? state.defaults?.mode ?? "default";
  chooseModel(conversation.model);
  goOn(left && !one.waiting);
  drawRights(one?.shared);
  const tokens = conversation.usage?.totalTokenCount;
  const said = [conversation.model, tokens ? `${tokens.toLocaleString()} tokens in the last request` : ""].filter(Boolean).join(" · ");
  byId("figures").replaceChildren(said, fill(tokens, state.window) ?? "");
}

/** A session that a terminal has open is asked for; once it is left there, it is opened here. */
function drawTaking(one) {
  const asked = Boolean(one) && state.asked === one.session;
  const button = byId("take");
  button.hidden = !(one?.state === "in_use" && !one.node && !one.shared && state.me?.role !== "viewer");
  button.disabled = asked;
  button.textContent = asked ? "asked there …" : "Go on here";
}

async function take() {
  const session = state.session;
  state.asked = session;
  drawSession();
  let taken = null;
  // Asked again, the server waits a while for what is said there: until then, and while somebody looks, it is asked.
  do {
    if (taken) await new Promise((done) => setTimeout(done, ASK_AGAIN));
    taken = await attempt(() => post(at(session, "/take")));
  } while (taken?.state === "asked" && state.session === session);
  if (state.asked === session) state.asked = null;
  drawSession();
}

/** What is somebody else's is looked at, and perhaps answered, and nothing else. */
function drawRights(shared) {
  const looks = Boolean(shared) || state.me?.role === "viewer";
  document.body.classList.toggle("looks", looks);
  for (const id of ["prompt", "send", "model", "mode", "file"]) byId(id).disabled = looks;
  for (const id of ["undo", "redo", "compress", "fork", "share", "delete"]) byId(id).hidden = looks;
  const may = shared?.right === "approve" ? "you may answer its questions" : "you may read it";
  byId("prompt").placeholder = shared ? `${shared.owner} shares this with you: ${may}` : "Ask something …";
}

/** How much the session's model can read; told once for each session and model, and again where somebody else has it: who runs it knows. */
async function lookAtWindow() {
  const about = `${state.session} ${conversation.model} ${entry()?.state}`;
  if (!state.session || state.windowOf === about || !conversation.usage) return;
  state.windowOf = about;
  state.window = undefined;
  const snapshot = await get(at(state.session, "/snapshot")).catch(() => ({}));
  state.window = snapshot.window;
  drawSession();
}

function showDialog(nodes) {
  byId("dialog-content").replaceChildren(...nodes);
  if (!byId("dialog").open) byId("dialog").showModal();
}

/** A turn that an earlier process left can be gone on with. */
function goOn(possible) {
  const known = byId("go-on");
  if (!possible) return known?.remove();
  if (known) return undefined;
  const node = element("button", { id: "go-on", type: "button", class: "primary" }, "Go on with the turn that was left");
  node.addEventListener("click", () => attempt(() => command(state.session, { command: "continue" })));
  return byId("log").after(node);
}

function chooseModel(model) {
  const select = byId("model");
  if (model && ![...select.options].some((option) => option.value === model)) select.append(element("option", { value: model }, model));
  if (model) select.value = model;
}

async function loadModels() {
  const { providers } = await get("/models");
  state.hasKey = providers.some((one) => one.ready && one.keyVariables.length);
  drawSession();
  const groups = providers.filter((one) => one.ready).map((one) => {
    const options = one.models.map((name) => element("option", { value: `${one.provider}/${name}` }, name));
    return element("optgroup", { label: one.title }, ...options);
  });
  byId("model").replaceChildren(...groups);
  drawDefaults();
  chooseModel(conversation.model);
}

/** The record of the message before a prompt; 0 where there is none. */
async function before(prompt) {
  const { contents } = await get(at(state.session, "/snapshot"));
  const earlier = contents.map((content) => content.seq).filter((seq) => seq < prompt);
  if (!earlier.length && conversation.summarized) throw new Error("What came before this is summarized.");
  return Math.max(0, ...earlier);
}

async function fork(message) {
  const { session } = await post(at(state.session, "/fork"), message === undefined ? {} : { at: message });
  open(session);
}

/** What looks like a command of the terminal: a path has another slash or a dot. */
const COMMAND = /^\/[a-z-]+(\s|$)/;

/** Says what was typed; the first words begin a session. */
async function say() {
  const text = byId("prompt").value;
  if (!text.trim() && !state.attached.length) return;
  // The words come first: a session is known by them.
  const words = text.trim() ? [{ text }] : [];
  const parts = [...words, ...state.attached.map(({ mimeType, data }) => ({ inlineData: { mimeType, data } }))];
  const content = { role: "user", parts };
  if (COMMAND.test(text)) {
    trouble("Commands behind a slash are the terminal's: here the menu ⋯ and the fields above have them. With a blank in front it is sent as words.");
    return;
  }
  byId("send").disabled = true;
  await attempt(async () => {
    if (state.session) {
      await command(state.session, { command: "prompt", content });
    } else {
      // What was not chosen here is as the settings have it.
      const workspace = byId("folder").value.trim() || undefined;
      const { session, notices } = await post("/sessions", { workspace, model: byId("model").value || undefined, mode: state.mode, prompt: content });
      open(session);
      if (notices.length) trouble(notices.join(" · "), "note");
    }
    byId("prompt").value = "";
    state.attached = [];
    drawAttached();
    size();
    state.following = true;
  });
  byId("send").disabled = false;
}

function size() {
  const prompt = byId("prompt");
  prompt.rows = Math.min(10, Math.max(1, prompt.value.split("\n").length));
}

async function attach(list) {
  for (const file of list) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    state.attached.push({ name: file.name || "picture", mimeType: file.type || "text/plain", data: btoa(text) });
  }
  drawAttached();
}

function drawAttached() {
  const rows = state.attached.map((file, index) => {
    const drop = element("button", { type: "button", class: "plain", "aria-label": `Leave ${file.name} out` }, "×");
    drop.addEventListener("click", () => {
      state.attached.splice(index, 1);
      drawAttached();
    });
    return element("li", {}, file.name, drop);
  });
  byId("attached").replaceChildren(...rows);
}

function showInbox(shown) {
  byId("inbox").hidden = !shown;
  byId("conversation").hidden = shown;
  byId("composer").hidden = shown;
  drawSession();
  if (shown) byId("inbox").querySelector("button")?.focus();
}

function closeSide() {
  document.body.classList.remove("side-open");
  byId("menu").setAttribute("aria-expanded", "false");
  byId("shade").hidden = true;
}

byId("menu").addEventListener("click", () => {
  const shown = document.body.classList.toggle("side-open");
  byId("menu").setAttribute("aria-expanded", String(shown));
  byId("shade").hidden = !shown;
});
byId("shade").addEventListener("click", closeSide);
byId("sessions").addEventListener("click", (event) => {
  if (!event.target.closest("a")) return;
  closeSide();
  showInbox(false);
});
byId("new").addEventListener("click", () => {
  open(null);
  attempt(loadModels);
});
byId("folder").addEventListener("change", () => attempt(readDefaults));
byId("inbox-open").addEventListener("click", () => {
  showInbox(byId("inbox").hidden);
  closeSide();
});
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  say();
});
byId("prompt").addEventListener("input", size);
byId("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    say();
  }
});
byId("prompt").addEventListener("paste", (event) => {
  if (event.clipboardData.files.length) attach(event.clipboardData.files);
});
byId("file").addEventListener("change", (event) => attach(event.target.files));
byId("main").addEventListener("dragover", (event) => event.preventDefault());
byId("main").addEventListener("drop", (event) => {
  event.preventDefault();
  attach(event.dataTransfer.files);
});
byId("take").addEventListener("click", take);
byId("stop").addEventListener("click", () => attempt(() => command(state.session, { command: "cancel" })));
byId("mode").addEventListener("change", (event) => {
  if (state.session) attempt(() => command(state.session, { command: "set_mode", mode: event.target.value }));
  else state.mode = event.target.value;
});
byId("model").addEventListener("change", (event) => {
  if (state.session) attempt(() => command(state.session, { command: "set_model", model: event.target.value }));
});
byId("undo").addEventListener("click", () => attempt(() => command(state.session, { command: "undo" })));
byId("redo").addEventListener("click", () => attempt(() => command(state.session, { command: "redo" })));
byId("compress").addEventListener("click", () => attempt(() => command(state.session, { command: "compress" })));
byId("fork").addEventListener("click", () => attempt(() => fork()));
byId("delete").addEventListener("click", () =>
  attempt(async () => {
    if (!state.session || !confirm("Delete this session for good?")) return;
    await remove(at(state.session));
    open(null);
  }),
);
byId("share").addEventListener("click", () => attempt(async () => showDialog(await sharing(state.session))));
byId("show-figures").addEventListener("click", () => attempt(showFigures));

/** Shows what was spent, and goes on while the server still counts, as long as somebody looks. */
async function showFigures() {
  const all = state.me?.role === "admin";
  for (let first = true; first || byId("dialog").open; first = false) {
    const [usage, users] = await Promise.all([get("/usage"), all ? get("/usage/users") : undefined]);
    if (!first && !byId("dialog").open) return;
    showDialog(figures(conversation.requests, state.window, usage, users));
    if (!usage.unread && !users?.unread) return;
  }
}
byId("notify").hidden = !notify.isPossible();
const drawNotify = (on) => byId("notify").setAttribute("aria-pressed", String(on));
drawNotify(notify.isOn());
byId("notify").addEventListener("click", () => attempt(async () => drawNotify(await notify.toggle())));
byId("more").addEventListener("click", (event) => {
  if (event.target.closest(".menu")) byId("more").open = false;
});
const showAccount = () => attempt(async () => showDialog(await account(await get("/me"), () => attempt(loadModels))));
byId("account").addEventListener("click", showAccount);
byId("add-key").addEventListener("click", showAccount);
byId("sign-out").addEventListener("click", () =>
  attempt(async () => {
    await post("/sign-out");
    location.replace("/sign-in");
  }),
);
let searching;

/** Looks for sessions, again whenever they change. */
function search() {
  clearTimeout(searching);
  searching = setTimeout(async () => {
    const words = byId("search").value.trim();
    // Without an answer what was found before stays.
    const found = words ? await get(`/sessions?search=${encodeURIComponent(words)}`).catch(() => ({ sessions: state.found })) : {};
    state.found = found.sessions;
    drawOverview();
  }, 150);
}

byId("search").addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    closeSide();
    if (!byId("inbox").hidden) showInbox(false);
  }
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") byId("new").click();
  else if (event.key === "i") byId("inbox-open").click();
  else if (event.key === "/") byId("search").focus();
  else return;
  event.preventDefault();
});
/** How long a page may be out of sight before it stops following, and how often it asks then. */
const OUT_OF_SIGHT = 30_000;
const ASK = 15_000;
let resting;

/** A browser has few connections to a server for all of its pages: one that nobody sees only counts what waits. */
function rest() {
  state.events.stop();
  state.resting = true;
  resting = setInterval(async () => {
    const answered = await get("/approvals").catch(() => undefined);
    if (answered) state.overview.approvals = answered.approvals;
    drawOverview();
  }, ASK);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(resting);
  clearInterval(resting);
  if (document.hidden) {
    resting = setTimeout(rest, OUT_OF_SIGHT);
  } else if (state.resting) {
    state.resting = false;
    state.events.connect();
  }
});
/** The session that the address names. */
function named() {
  const name = location.hash.slice(1);
  try {
    return decodeURIComponent(name) || null;
  } catch {
    return name;
  }
}

window.addEventListener("hashchange", () => {
  const session = named();
  if (session !== state.session) open(session);
  else showInbox(false);
});

state.me = await attempt(() => get("/me"));
byId("who").textContent = state.me ? `${state.me.name} · Charla ${state.me.version}` : "";
open(named());
attempt(loadModels);
