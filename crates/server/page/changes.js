// What a turn made of files: listed where the turn ends, each to be looked at and taken back.

import { diff } from "./card.js";
import { button, element, visible } from "./dom.js";

/** The files of one turn. `acts.changes` tells what became of each, `acts.command` takes it back. */
export class Changes {
  constructor(turn, folder, paths, acts) {
    this.turn = turn;
    this.folder = folder;
    this.acts = acts;
    this.files = [...paths].map((path) => ({ path }));
    this.open = new Set();
    this.heading = element("span", { class: "what" });
    this.all = element("span", { class: "acts" });
    this.rows = element("ul", {});
    this.node = element("section", { class: "changes", "aria-label": `Files that turn ${turn} changed` }, element("p", {}, this.heading, this.all), this.rows);
    this.draw();
    // A long conversation has many turns: those that nobody looks at are not asked about.
    this.seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.look());
    this.seen.observe(this.node);
  }

  /** Asks what became of the files; again when something was taken back. */
  async look() {
    this.seen.disconnect();
    const told = await this.acts.changes(this.turn);
    if (!told) return;
    this.files = told.files;
    // What was changed back by the turn itself, or on another machine, is no change here.
    this.node.hidden = !this.files.length;
    this.draw();
  }

  draw() {
    const [added, removed] = [sum(this.files, "added"), sum(this.files, "removed")];
    const many = this.files.length === 1 ? "1 file changed" : `${this.files.length} files changed`;
    this.heading.replaceChildren(many, ...(this.files.length > 1 && this.files[0].added !== undefined ? counts(added, removed) : []));
    this.all.replaceChildren(...this.undo(this.files, []));
    this.rows.replaceChildren(...this.files.map((file) => this.row(file)));
  }

  row(file) {
    const details = element("details", {}, element("summary", {}, element("code", {}, visible(this.name(file.path))), ...counts(file.added, file.removed), file.undone ? element("span", { class: "undone" }, "taken back") : null, file.mixed ? element("span", { class: "undone", title: "Something else changed it during the turn, too" }, "mixed") : null));
    const show = () => details.childElementCount < 2 && file.diff !== undefined && details.append(file.diff.includes("@@") ? diff(file.diff) : element("p", { class: "fact" }, visible(file.diff)));
    details.open = this.open.has(file.path);
    if (details.open) show();
    details.addEventListener("toggle", () => {
      this.open[details.open ? "add" : "delete"](file.path);
      if (details.open) show();
    });
    const single = this.files.length > 1 ? this.undo([file], [file.path]) : [];
    return element("li", {}, details, element("span", { class: "acts" }, ...single));
  }

  /** Buttons that take these files back, or bring them back. */
  undo(files, only) {
    const acts = [];
    const send = (command) => this.acts.command({ command, turn: this.turn, ...(only.length ? { only } : {}) });
    const what = only.length ? visible(this.name(only[0])) : "all files of this turn";
    if (files.some((file) => file.undone === false)) acts.push(button("Undo", () => send("undo"), { class: "plain", "data-undo": only[0] ?? "all", "aria-label": `Undo ${what}` }));
    if (files.some((file) => file.undone)) acts.push(button("Redo", () => send("redo"), { class: "plain", "data-redo": only[0] ?? "all", "aria-label": `Redo ${what}` }));
    return acts;
  }

  /** A file as somebody in the session's folder would name it. */
  name(path) {
    const folder = this.folder && `${this.folder}/`;
    return folder && path.startsWith(folder) ? path.slice(folder.length) : path;
  }
}

const sum = (files, what) => files.reduce((total, file) => total + (file[what] ?? 0), 0);

function counts(added, removed) {
  if (added === undefined) return [];
  const words = `${added} ${added === 1 ? "line" : "lines"} added, ${removed} removed`;
  return [element("span", { class: "hidden" }, ` ${words} `), element("span", { class: "plus", "aria-hidden": "true" }, `+${added}`), element("span", { class: "minus", "aria-hidden": "true" }, `−${removed}`)];
}
