// Lets others into a session.

import { at, get, post, remove } from "./api.js";
import { element } from "./dom.js";
import { choice, field, listing } from "./listing.js";

const RIGHTS = { read: "may read", approve: "may read and answer questions" };

/** The dialog's content for a session. */
export async function sharing(session) {
  const path = at(session, "/shares");
  const shares = listing({
    title: "Share this session",
    empty: "Nobody else may see it.",
    read: async () => (await get(path)).shares,
    row: ({ user, right }) => ({
      name: user,
      shown: [element("strong", {}, user), ` ${RIGHTS[right]}`],
      label: "Take back",
      drop: () => remove(`${path}/${encodeURIComponent(user)}`),
    }),
    fields: [field("user", "name"), choice("right", "What they may", RIGHTS)],
    submit: "Share",
    add: async ({ user, right }) => {
      await post(path, { user: user.trim(), right });
    },
  });
  return [await shares];
}
