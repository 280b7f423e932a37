// Figures as charts: how full the context was with each request, and what sessions and models have cost.

import { element } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
/** How many of the last requests, and of the dearest sessions, are shown. */
const REQUESTS = 60;
const ROWS = 8;

function shape(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

const count = (number) => Math.round(number).toLocaleString();
const percent = (part) => `${Math.round(part * 100)} %`;
const money = (usd) => (usd === undefined || usd === null ? "price not known" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`);

/** A bar for each request, the last one at the right; the whole height is the model's window. */
export function contextChart(requests, window) {
  const shown = requests.slice(-REQUESTS);
  const most = window ?? Math.max(1, ...shown);
  const last = shown.at(-1) ?? 0;
  const said = window ? `${count(last)} of ${count(window)} tokens, ${percent(last / window)} of the context` : `${count(last)} tokens, of a window that is not known`;
  const bars = shown.map((tokens, at) => {
    const height = Math.max(1, Math.min(1, tokens / most) * 60);
    const full = window && tokens / window > 0.8 ? "full" : "";
    return shape("rect", { x: at * 5, y: 60 - height, width: 4, height, class: `bar ${full}` });
  });
  const chart = shape("svg", { viewBox: `0 0 ${Math.max(shown.length, 12) * 5} 60`, class: "chart", role: "img", "aria-label": `Context with each request: ${said}`, preserveAspectRatio: "xMinYMax meet" }, ...bars);
  return element("figure", {}, element("figcaption", {}, `Context: ${said}`), chart);
}

/** A meter for how full the context is. */
export function fill(tokens, window) {
  if (!tokens || !window) return null;
  return element("meter", { min: 0, max: window, high: window * 0.8, optimum: 0, value: tokens, "aria-label": "Context", title: `${count(tokens)} of ${count(window)} tokens` });
}

/** A row with a bar for each, the dearest first. */
export function costChart(title, rows) {
  const weight = ({ spent }) => spent.costUsd ?? 0;
  const tokens = ({ spent }) => spent.inputTokens + spent.outputTokens;
  const sorted = rows.toSorted((one, other) => weight(other) - weight(one) || tokens(other) - tokens(one)).slice(0, ROWS);
  const most = Math.max(...sorted.map(weight)) || Math.max(1, ...sorted.map(tokens));
  const by = sorted.some((row) => weight(row) > 0) ? weight : tokens;
  const lines = sorted.map((row) => {
    const bar = shape("svg", { viewBox: "0 0 100 6", class: "bar-row", "aria-hidden": "true", preserveAspectRatio: "none" }, shape("rect", { width: Math.max(1, (by(row) / most) * 100), height: 6, class: "bar" }));
    return element("li", {}, element("span", { class: "what" }, row.name), element("span", { class: "how-much" }, `${money(row.spent.costUsd)} · ${count(tokens(row))} tokens`), bar);
  });
  return element("figure", {}, element("figcaption", {}, title), element("ul", { class: "costs" }, ...lines));
}

/** Everything about a session and beside it. `users` is what administrators are told. */
export function figures(requests, window, usage, users) {
  const sessions = usage.sessions.map((one) => ({ name: one.title || one.session, spent: one.spent }));
  const models = usage.models.map((one) => ({ name: one.model, spent: one.spent }));
  const unread = usage.unread + (users?.unread ?? 0);
  const more = unread ? [element("p", { class: "hint", role: "status" }, `${count(unread)} more sessions are being counted …`)] : [];
  const everybody = users ? [costChart("What users have spent", users.users.flatMap(byModel))] : [];
  return [contextChart(requests, window), ...more, costChart("What models have cost you", models), costChart("What your sessions have cost", sessions), ...everybody];
}

/** A row for each model of a user. */
function byModel({ user, models }) {
  return models.map((one) => ({ name: `${user} · ${one.model}`, spent: one.spent }));
}
