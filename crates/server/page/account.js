// What is one's own at this server: keys for models, tokens for programs, the password; and accounts, for who looks after them.

import { get, post, remove } from "./api.js";
import { element } from "./dom.js";
import { choice, field, listing } from "./listing.js";

const ROLES = { member: "member", viewer: "viewer: looks only", admin: "admin" };
const SECRET = { type: "password", autocomplete: "new-password" };

/** The dialog's content for who is signed in; `changed` is told when other models may answer. */
export async function account(me, changed) {
  const may = me.role !== "viewer";
  const parts = [about(me), may && keys(changed), tokens(), "budget" in me && password(), may && link(), me.role === "admin" && users()];
  return Promise.all(parts.filter(Boolean));
}

function about(me) {
  const limits = [me.budget?.tokens && `${me.budget.tokens.toLocaleString()} tokens`, me.budget?.usd !== undefined && me.budget?.usd !== null && `$${me.budget.usd}`].filter(Boolean);
  const budget = limits.length ? ` May use ${limits.join(" and ")} a day; today it was ${me.spent_today.tokens.toLocaleString()} tokens, $${me.spent_today.usd.toFixed(2)}.` : "";
  return element("section", {}, element("h2", {}, me.name), element("p", {}, `${ROLES[me.role]}, works in ${me.workspace}.${budget}`));
}

async function keys(changed) {
  const { providers } = await get("/models");
  const hosted = providers.filter((one) => one.keyVariables.length).map((one) => [one.provider, one.title]);
  return listing({
    title: "Keys for models",
    empty: "You keep none here. Without a key of yours or of the server's, the built-in model answers.",
    read: async () => (await get("/keys")).keys,
    row: ({ provider }) => ({
      name: provider,
      shown: [element("strong", {}, provider)],
      label: "Forget",
      drop: async () => {
        await remove(`/keys/${encodeURIComponent(provider)}`);
        changed();
      },
    }),
    fields: [choice("provider", "Provider", Object.fromEntries(hosted)), field("key", "key", SECRET)],
    submit: "Keep",
    add: async ({ provider, key }) => {
      await post("/keys", { provider, key: key.trim() });
      changed();
    },
  });
}

function tokens() {
  return listing({
    title: "Tokens for programs",
    empty: "You have made none.",
    read: async () => (await get("/tokens")).tokens,
    row: ({ id, label }) => ({
      name: label,
      shown: [element("strong", {}, label)],
      label: "Take back",
      drop: () => remove(`/tokens/${encodeURIComponent(id)}`),
    }),
    fields: [field("label", "what it is for")],
    submit: "Make a token",
    add: async ({ label }) => {
      const { token } = await post("/tokens", { label });
      return element("p", {}, "It is shown this once. Programs send ", element("code", { class: "secret" }, `Authorization: Bearer ${token}`));
    },
  });
}

async function password() {
  return form("Password", "Change it", [field("old", "the present one", { type: "password", autocomplete: "current-password" }), field("new", "the new one", SECRET)], async (values) => {
    await post("/password", values);
    location.replace("/sign-in");
  });
}

async function link() {
  return form("Another browser", "Make a link", [], async () => {
    const { path } = await post("/links");
    return element("p", {}, "Open it there; it signs one browser in, once: ", element("code", { class: "secret" }, location.origin + path));
  });
}

/** A form without a list. */
function form(title, submit, fields, add) {
  return listing({ title, empty: "", read: async () => [], row: () => ({}), fields, submit, add });
}

function users() {
  return listing({
    title: "Accounts",
    empty: "Nobody has one yet.",
    read: async () => (await get("/users")).users,
    row: ({ name, role, workspace, reaches }) => {
      const warning = reaches?.length ? [element("p", { class: "card-trouble" }, `Their folder and that of ${reaches.join(", ")} lie in one another: they reach each other's files.`)] : [];
      return {
        name,
        shown: [element("strong", {}, name), ` ${ROLES[role]}, ${workspace}`, ...warning],
        label: "Remove",
        drop: async () => {
          if (confirm(`Remove the account of ${name}? What it kept stays in the server's folder.`)) await remove(`/users/${encodeURIComponent(name)}`);
        },
      };
    },
    fields: [field("name", "name"), choice("role", "Role", ROLES), field("workspace", "folder, as a whole path"), field("password", "password", SECRET)],
    submit: "Add",
    add: async (values) => {
      await post("/users", { ...values, name: values.name.trim(), workspace: values.workspace.trim() });
    },
  });
}
