// An editor on the official TypeScript library. It does the steps of a plan and prints what it saw as JSON.
//
// node client.mjs SDK PLAN PROGRAM ARGUMENT…
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { readFileSync, writeFileSync } from "node:fs";

const [sdk, planText, program, ...args] = process.argv.slice(2);
const acp = await import(sdk);
const plan = JSON.parse(planText);
const seen = { results: [], updates: [], asked: [], reads: [], writes: [], forms: [] };
const answers = [...(plan.answers ?? [])];
const buffers = { ...(plan.buffers ?? {}) };
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

let session;
let agent;
let cancelOn;

function happened(what) {
  if (cancelOn === what) {
    cancelOn = undefined;
    void agent.notify("session/cancel", { sessionId: session });
    return true;
  }
  return false;
}

const app = acp
  .client({ name: "editor" })
  .onNotification("session/update", ({ params }) => {
    seen.updates.push(params.update);
    happened(params.update.sessionUpdate);
  })
  .onRequest("session/request_permission", async ({ params }) => {
    seen.asked.push(params);
    if (happened("permission")) return { outcome: { outcome: "cancelled" } };
    const answer = answers.shift() ?? "cancel";
    if (answer === "leave") {
      // The editor dies with the question open.
      process.stdout.write(JSON.stringify(seen), () => process.exit(0));
      await new Promise(() => {});
    }
    if (answer === "cancel") return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: answer } };
  })
  .onRequest("fs/read_text_file", ({ params }) => {
    seen.reads.push(params.path);
    return { content: buffers[params.path] ?? readFileSync(params.path, "utf8") };
  })
  .onRequest("fs/write_text_file", ({ params }) => {
    seen.writes.push({ path: params.path, content: params.content });
    buffers[params.path] = params.content;
    writeFileSync(params.path, params.content);
    return {};
  })
  .onRequest("elicitation/create", ({ params }) => {
    seen.forms.push(params);
    return { action: "accept", content: plan.form };
  });

function filled(params) {
  return JSON.parse(JSON.stringify(params).replaceAll("$session", session ?? "none"));
}

await app.connectWith(stream, async (context) => {
  agent = context;
  seen.greeting = await context.request("initialize", {
    protocolVersion: plan.version ?? 1,
    clientCapabilities: plan.capabilities ?? {},
  });
  for (const step of plan.steps) {
    cancelOn = step.cancelOn;
    try {
      const params = filled(step.params ?? {});
      const result = await context.request(step.method, params);
      session = result?.sessionId ?? params.sessionId ?? session;
      seen.results.push(result);
    } catch (error) {
      seen.results.push({ error: { code: error.code, message: error.message } });
    }
  }
});
child.stdin.end();
const code = await new Promise((done) => (child.exitCode === null ? child.on("exit", done) : done(child.exitCode)));
process.stdout.write(JSON.stringify({ ...seen, code }));
process.exit(0);
