// Signs this browser in with the code behind the address's `#`, which is sent to nobody but the server itself.
const state = document.getElementById("state");
const code = location.hash.slice(1);
history.replaceState(null, "", "/sign-in");

const help = "Open the link that charla serve printed when it started. It works once.";
if (!code) {
  state.textContent = help;
} else {
  const answer = await fetch("/api/v1/sign-in", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) {
    location.replace("/");
  } else {
    const problem = await answer.json().catch(() => ({}));
    state.textContent = `${problem.detail ?? "It did not work."} ${help}`;
  }
}
