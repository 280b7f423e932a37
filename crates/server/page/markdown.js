// Markdown as elements: headings, lists, tables, quotes, code, emphasis and links. HTML in it stays text.

import { element, unturned } from "./dom.js";

/** The elements of a text. */
export function markdown(text) {
  return blocks(unturned(text).replace(/\r\n?/g, "\n").split("\n"));
}

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([^\s`]*).*$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ROW = /^\s*\|?.*\|.*$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines) {
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line.trim()) {
      at += 1;
      continue;
    }
    const [node, next] = block(lines, at);
    nodes.push(node);
    at = next;
  }
  return nodes;
}

/** The block that begins at a line, and the line after it. */
function block(lines, at) {
  const line = lines[at];
  const fence = line.match(FENCE);
  if (fence) return code(lines, at, fence);
  const heading = line.match(HEADING);
  // The page's own heading is the first level.
  if (heading) return [element(`h${Math.min(6, heading[1].length + 1)}`, {}, ...inline(heading[2])), at + 1];
  if (RULE.test(line)) return [element("hr"), at + 1];
  if (/^\s{0,3}>/.test(line)) return quote(lines, at);
  if (ITEM.test(line)) return list(lines, at);
  if (ROW.test(line) && DIVIDER.test(lines[at + 1] ?? "") && line.includes("|")) return table(lines, at);
  return paragraph(lines, at);
}

function code(lines, at, fence) {
  const end = lines.findIndex((line, index) => index > at && line.trim().startsWith(fence[1]) && !line.trim().slice(fence[1].length).trim());
  const last = end < 0 ? lines.length : end;
  return [codeBlock(lines.slice(at + 1, last).join("\n"), fence[2]), last + 1];
}

/** A block of code that can be copied. */
export function codeBlock(text, language = "") {
  const copy = element("button", { type: "button", class: "copy", "aria-label": "Copy the code" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  const head = element("div", { class: "code-head" }, element("span", {}, language), copy);
  const body = element("pre", { tabindex: "0" }, element("code", {}, ...highlight(text)));
  return element("div", { class: "code" }, head, body);
}

const TOKENS = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(\/\/[^\n]*|#(?![\w-]*[{(<])[^\n]*|\/\*[\s\S]*?\*\/)|\b(\d[\w.]*)\b|(?<!\.|::)\b(as|async|await|break|case|catch|class|const|continue|def|do|elif|else|enum|export|extends|false|fi|finally|fn|for|from|func|function|if|impl|import|in|interface|let|loop|match|mod|mut|new|nil|none|None|null|package|pub|return|self|static|struct|super|switch|then|this|throw|trait|true|True|False|try|type|use|var|while|with|yield)\b/g;

/** Strings, comments, numbers and common words in their colours. */
function highlight(text) {
  if (text.length > 50_000) return [text];
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(TOKENS)) {
    const kind = found[1] ? "string" : found[2] ? "comment" : found[3] ? "number" : "keyword";
    nodes.push(text.slice(last, found.index), element("span", { class: kind }, found[0]));
    last = found.index + found[0].length;
  }
  nodes.push(text.slice(last));
  return nodes;
}

function quote(lines, at) {
  let end = at;
  while (end < lines.length && /^\s{0,3}>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}>\s?/, ""));
  return [element("blockquote", {}, ...blocks(inner)), end];
}

function list(lines, at) {
  const [, indent, mark] = lines[at].match(ITEM);
  const ordered = /\d/.test(mark);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = lines[end].match(ITEM);
    if (item && item[1].length <= indent.length && /\d/.test(item[2]) === ordered && item[1].length === indent.length) {
      items.push([item[3]]);
    } else if (!lines[end].trim()) {
      const next = lines[end + 1] ?? "";
      if (!next.startsWith(" ".repeat(indent.length + 2)) && !next.match(ITEM)) break;
      items.at(-1).push("");
    } else if (lines[end].length - lines[end].trimStart().length > indent.length || (item && item[1].length > indent.length)) {
      items.at(-1).push(lines[end].slice(Math.min(indent.length + mark.length + 1, lines[end].length - lines[end].trimStart().length)));
    } else if (item || startsBlock(lines[end])) {
      break;
    } else {
      items.at(-1).push(lines[end].trim());
    }
    end += 1;
  }
  const nodes = items.map((item) => element("li", {}, ...tight(item)));
  const start = ordered ? Number.parseInt(mark, 10) : null;
  return [element(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, ...nodes), end];
}

/** An item's own words need no paragraph of their own. */
function tight(lines) {
  const task = lines[0].match(/^\[([ xX])\]\s+(.*)$/);
  if (task) lines = [(task[1] === " " ? "☐ " : "☑ ") + task[2], ...lines.slice(1)];
  const nodes = blocks(lines);
  if (nodes[0]?.tagName === "P") return [...nodes[0].childNodes, ...nodes.slice(1)];
  return nodes;
}

function cells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, at) {
  const head = cells(lines[at]);
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) end += 1;
  const sides = cells(lines[at + 1]).map((rule) => (/^:-*:$/.test(rule.trim()) ? "middle" : rule.trim().endsWith(":") ? "end" : null));
  const rows = lines.slice(at + 2, end).map((line) => element("tr", {}, ...cells(line).map((cell, column) => element("td", { class: sides[column] ?? null }, ...inline(cell)))));
  const top = element("tr", {}, ...head.map((cell, column) => element("th", { scope: "col", class: sides[column] ?? null }, ...inline(cell))));
  return [element("div", { class: "table", tabindex: "0" }, element("table", {}, element("thead", {}, top), element("tbody", {}, ...rows))), end];
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || /^\s{0,3}>/.test(line);
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end]) && !ITEM.test(lines[end])) end += 1;
  const nodes = [];
  lines.slice(at, end).forEach((line, index) => {
    if (index > 0) nodes.push(/( {2}|\\)$/.test(lines[at + index - 1]) ? element("br") : " ");
    nodes.push(...inline(line.trim().replace(/\\$/, "")));
  });
  return [element("p", {}, ...nodes), end];
}

const SPANS = [
  [/(`+)([\s\S]*?[^`])\1(?!`)/, (found) => element("code", {}, found[2].replace(/^ (.*) $/, "$1"))],
  [/\\([\\`*_{}[\]()#+\-.!|~<>])/, (found) => found[1]],
  [/!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)/, link],
  [/<(https?:\/\/[^\s<>]+)>|\b(https?:\/\/[^\s<>"'`*]*[^\s<>"'`*.,;:!?)\]}])/, (found) => anchor(found[1] ?? found[2], [found[1] ?? found[2]])],
  [/\*\*(?=\S)([\s\S]*?\S)\*\*/, (found) => element("strong", {}, ...inline(found[1]))],
  [/(?<![\w_])__(?=\S)([\s\S]*?\S)__(?![\w_])/, (found) => element("strong", {}, ...inline(found[1]))],
  [/~~(?=\S)([\s\S]*?\S)~~/, (found) => element("del", {}, ...inline(found[1]))],
  [/\*(?=[^\s*])([^*]*[^\s*])\*/, (found) => element("em", {}, ...inline(found[1]))],
  [/(?<![\w_])_(?=[^\s_])([^_]*[^\s_])_(?![\w_])/, (found) => element("em", {}, ...inline(found[1]))],
];

/** The spans of one line. */
function inline(text) {
  const nodes = [];
  let rest = text;
  while (rest) {
    let first = null;
    for (const [pattern, make] of SPANS) {
      const found = rest.match(pattern);
      if (found && (!first || found.index < first.found.index)) first = { found, make };
    }
    if (!first) break;
    nodes.push(rest.slice(0, first.found.index), first.make(first.found));
    rest = rest.slice(first.found.index + first.found[0].length);
  }
  nodes.push(rest);
  return nodes.filter((node) => node !== "");
}

function link(found) {
  return anchor(found[2], inline(found[1] || found[2]));
}

/** Only addresses of the web become links; a picture is a link, too: nothing is loaded from elsewhere. */
function anchor(address, children) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return element("span", {}, ...children);
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return element("span", {}, ...children);
  return element("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, ...children);
}
