// Speaks with the server.

const BASE = "/api/v1";

/** What the server said no with. */
export class Problem extends Error {
  constructor(status, body) {
    super([body.detail, body.hint].filter(Boolean).join(" · ") || `the server answered ${status}`);
    this.status = status;
    this.kind = body.kind;
    this.reply = body.reply;
  }
}

async function send(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  // Sent again after a broken connection, it acts once.
  if (method !== "GET") headers["idempotency-key"] = crypto.randomUUID?.() ?? String(Math.random());
  const options = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(BASE + path, options);
  } catch {
    answer = await fetch(BASE + path, options);
  }
  if (answer.status === 401) location.replace("/sign-in");
  if (answer.status === 204) return null;
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, value);
  return value;
}

export const get = (path) => send("GET", path);
export const post = (path, body = {}) => send("POST", path, body);
export const remove = (path) => send("DELETE", path);

/** The path of a session, or of what is below it. An id may come from an address that somebody was sent: it names nothing else. */
export const at = (session, below = "") => `/sessions/${part(session)}${below}`;

/** One part of a path. Dots alone would lead out of it. */
const part = (name) => (/^\.+$/.test(name) ? "none" : encodeURIComponent(name));

export const command = (session, value) => post(at(session, "/commands"), value);
export const answer = (approval, outcome) => post(`/approvals/${part(approval)}`, outcome);

/** Where all of a call's output is. */
export const wholeOutput = (session, call) => `${BASE}${at(session, `/outputs/${part(call)}`)}`;

/** How long without a word until the connection counts as gone: some heartbeats. */
const SILENCE = 40_000;

/** How long a page that could not keep up waits before it comes anew. */
const RENEWAL = 300;

/** Follows what happens, again and again after each interruption, until it is closed. */
export class Events {
  constructor(session, handlers) {
    this.session = session;
    this.handlers = handlers;
    this.seen = 0;
    this.pause = 500;
    this.connect();
  }

  connect() {
    const query = new URLSearchParams();
    if (this.session) {
      query.set("session", this.session);
      query.set("after", String(this.seen));
    }
    this.source = new EventSource(`${BASE}/events?${query}`);
    const names = ["overview", "record", "turn", "broken", "database", "heartbeat"];
    for (const name of names) {
      this.source.addEventListener(name, (event) => {
        this.heard();
        if (event.lastEventId) this.seen = Math.max(this.seen, Number(event.lastEventId));
        this.handlers[name]?.(JSON.parse(event.data));
      });
    }
    // What was lost is told again from the beginning to whoever comes anew.
    this.source.addEventListener("missed", () => {
      this.renewal ??= setTimeout(() => {
        this.stop();
        this.connect();
      }, RENEWAL);
    });
    this.source.onopen = () => {
      this.pause = 500;
      this.heard();
      this.handlers.open?.();
    };
    this.source.onerror = () => this.again();
    this.heard();
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.again(), SILENCE);
  }

  async again() {
    this.stop();
    this.handlers.lost?.();
    this.retry = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 2, 10_000);
    // A stream does not say why it ended: a session that is gone, or a sign-in that has ended, is told by a plain request.
    try {
      await get(this.session ? at(this.session) : "/me");
      if (this.session && this.seen && !(await get(at(this.session, `/records?after=${this.seen - 1}`))).records.length) {
        // What was seen is not there any more, such as after a restore: it is read anew.
        this.seen = 0;
        this.handlers.anew?.();
      }
    } catch (problem) {
      if (problem.status === 404) {
        this.stop();
        this.handlers.gone?.();
      }
    }
  }

  stop() {
    clearTimeout(this.silence);
    clearTimeout(this.retry);
    clearTimeout(this.renewal);
    this.renewal = undefined;
    this.source?.close();
  }
}
