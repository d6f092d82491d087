// An editor of another make: drives `ramet acp` with the TypeScript SDK of the Agent Client
// Protocol through twelve cases, and prints a line for each.
//
//   node acp.mjs '{"sdk": FILE, "command": [...], "cwd": DIR, "models": {NAME: MODEL}}'
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const acp = await import(pathToFileURL(given.sdk).href);

const fail = (what) => {
  console.error("FAILED: " + what);
  process.exit(1);
};
const check = (is, what) => is || fail(what);
const ok = (name) => console.log("ok " + name);

// editor is one process of ramet acp, and what it told.
function editor() {
  const child = spawn(given.command[0], given.command.slice(1), { cwd: given.cwd, stdio: ["pipe", "pipe", "inherit"] });
  const told = {};
  const asked = [];
  const waiting = [];
  const e = { child, told, asked, choose: () => "once" };
  const ring = () => waiting.splice(0).forEach((f) => f());
  const line = (u) => {
    switch (u.sessionUpdate) {
      case "agent_message_chunk": return u.content.text;
      case "user_message_chunk": return "user: " + u.content.text;
      case "tool_call": return "call " + u.toolCallId + " " + u.kind + (u.content ?? []).map((c) => " " + c.type).join("");
      case "tool_call_update": return "call " + u.toolCallId + " " + (u.status ?? "");
      case "current_mode_update": return "mode " + u.currentModeId;
    }
    return u.sessionUpdate;
  };
  const connection = acp
    .client({ name: "editor" })
    .onNotification("session/update", ({ params: n }) => {
      (told[n.sessionId] ??= []).push(line(n.update));
      ring();
    })
    .onRequest("session/request_permission", ({ params: r }) => {
      asked.push(r);
      return { outcome: { outcome: "selected", optionId: e.choose(r) } };
    })
    .connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const call = (method, p) => connection.agent.request(method, p);
  e.call = call;
  e.tell = (method, p) => connection.agent.notify(method, p);
  e.initialize = () => call("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  e.heard = (s) => (told[s] ?? []).join("|");
  e.until = async (s, text) => {
    while (!e.heard(s).includes(text)) await new Promise((f) => waiting.push(f));
  };
  e.begin = async (model) => {
    const made = await call("session/new", { cwd: given.cwd, mcpServers: [] });
    if (model) await call("session/set_config_option", { sessionId: made.sessionId, configId: "model", value: given.models[model] });
    return { ...made, id: made.sessionId };
  };
  e.say = (s, text) => call("session/prompt", { sessionId: s, prompt: [{ type: "text", text }] });
  e.ended = new Promise((f) => child.on("exit", (code) => f(code)));
  return e;
}

const rejected = async (p) => p.then(() => null, (err) => err);

let e = editor();
const hi = await e.initialize();
check(hi.protocolVersion === 1 && hi.agentInfo.name === "ramet" && hi.agentCapabilities.loadSession, "initialize: " + JSON.stringify(hi));
ok("initialize");

const one = await e.begin("hello");
let r = await e.say(one.id, "say hello");
check(r.stopReason === "end_turn" && e.heard(one.id).replaceAll("|", "").includes("hello there"), "prompt: " + e.heard(one.id));
ok("new and prompt");

const two = await e.begin("tools");
e.choose = (q) => (q.toolCall.title.includes("refused") ? "no" : "once");
r = await e.say(two.id, "go");
check(e.heard(two.id).includes("call w1 edit diff") && e.heard(two.id).includes("call w1 completed"), "permitted: " + e.heard(two.id));
check(e.heard(two.id).includes("call b1 failed") && e.asked.length === 2 && e.asked[1].options.length === 5, "refused: " + e.heard(two.id));
ok("a call, permitted and refused");

const three = await e.begin("sleep");
let turn = e.say(three.id, "sleep");
await e.until(three.id, "call s1 in_progress");
await e.tell("session/cancel", { sessionId: three.id });
check((await turn).stopReason === "cancelled", "cancel");
ok("cancel in the middle of a call");

await e.call("session/close", { sessionId: one.id });
check(await rejected(e.say(one.id, "x")), "a closed session answers");
ok("close");

e.told[one.id] = [];
await e.call("session/load", { sessionId: one.id, cwd: given.cwd, mcpServers: [] });
check(e.heard(one.id).includes("user: say hello"), "load: " + e.heard(one.id));
ok("load replays");

const fork = await e.call("session/fork", { sessionId: one.id, cwd: given.cwd, mcpServers: [] });
check(fork.sessionId && fork.sessionId !== one.id, "fork");
await e.say(fork.sessionId, "in the fork");
ok("fork");

const list = await e.call("session/list", { cwd: given.cwd });
check([one.id, two.id, fork.sessionId].every((id) => list.sessions.some((s) => s.sessionId === id)), "list: " + JSON.stringify(list));
ok("list");

check(two.modes.availableModes.length === 4, "modes: " + JSON.stringify(two.modes));
await e.call("session/set_mode", { sessionId: two.id, modeId: "read-only" });
await e.until(two.id, "mode read-only");
ok("mode");

const options = await e.call("session/set_config_option", { sessionId: two.id, configId: "model", value: given.models.hello });
check(options.configOptions.some((o) => o.id === "model" && o.currentValue === given.models.hello), "model: " + JSON.stringify(options));
ok("model");

const four = await e.begin("wait"), five = await e.begin("hello");
turn = e.say(four.id, "wait");
await e.until(four.id, "half");
check((await e.say(five.id, "say hello")).stopReason === "end_turn", "two at once");
check(await rejected(e.say("nobody", "x")), "an unknown session answers");
check(await rejected(e.call("_ramet/nothing", {})), "an unknown method answers");
e.child.stdin.write("garbage\n");
check((await e.say(five.id, "say hello")).stopReason === "end_turn", "after garbage");
ok("two at once, unknown session and method, garbage");

e.child.kill("SIGKILL");
await e.ended;
await rejected(turn);
e = editor();
await e.initialize();
await e.call("session/resume", { sessionId: four.id, cwd: given.cwd, mcpServers: [] });
await e.call("session/set_config_option", { sessionId: four.id, configId: "model", value: given.models.hello });
check((await e.say(four.id, "go on")).stopReason === "end_turn", "resume");
e.child.stdin.end();
check((await e.ended) === 0, "the end of the input");
ok("SIGKILL and resume");
process.exit(0);
