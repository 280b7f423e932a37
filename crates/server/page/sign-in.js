// Signs this browser in: with the code behind the address's `#`, which is sent to nobody but the server itself, or with a name
// and a password.
const byId = (id) => document.getElementById(id);
const state = byId("state");

const help = "The machine's own user opens the link that charla serve printed when it started. It works once.";

async function signIn(body) {
  state.textContent = "Signing in …";
  const answer = await fetch("/api/v1/sign-in", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const problem = await answer.json().catch(() => ({}));
  state.textContent = problem.detail ?? "It did not work.";
  show();
}

/** The form, and a way to the provider of identities where there is one. */
async function show() {
  byId("password-form").hidden = false;
  byId("name").focus();
  const health = await fetch("/api/v1/health").then((answer) => answer.json()).catch(() => ({}));
  byId("oidc").hidden = !health.sign_in?.includes("oidc");
}

byId("password-form").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn({ name: byId("name").value.trim(), password: byId("password").value });
});

/** Uses the code of a link, also where the page was open already when the link was. */
function arrive() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", "/sign-in");
  if (code) {
    signIn({ code });
  } else {
    state.textContent = help;
    show();
  }
}

window.addEventListener("hashchange", arrive);
arrive();
