// The follower as a host of an agent sees it: messages of the Claude Agent SDK in, events out.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { FoxwedgeError } from "foxwedge";
import { AgentFollower } from "foxwedge/follow";

const init = { type: "system", subtype: "init", session_id: "s", model: "m", tools: ["Bash", "AskUserQuestion"] };
const assistant = (id, ...content) => ({ type: "assistant", uuid: `a-${id}`, session_id: "s", message: { id, role: "assistant", content } });
const call = (id, name = "Bash", input = { command: "ls" }) => assistant(`m-${id}`, { type: "tool_use", id, name, input });
const result = (id, content, is_error = false) => ({
  type: "user",
  uuid: `r-${id}`,
  session_id: "s",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, is_error }] },
});
const done = { type: "result", subtype: "success", is_error: false, result: "Done.", session_id: "s" };
const types = (events) => events.map(({ type }) => type);

test("messages of the SDK become the events of a run, as objects or as lines", () => {
  const stream = [init, call("c1"), result("c1", "3 files"), assistant("m2", { type: "text", text: "Done." }), done];
  const run = (form) => {
    const follow = new AgentFollower({ run: "r1" });
    const events = stream.flatMap((message) => follow.message(form(message)));
    return [...events, ...follow.finish({ code: 0 })];
  };
  const events = run((message) => message);
  assert.deepEqual(run(JSON.stringify), events);
  assert.deepEqual([types(events)[0], types(events).at(-1)], ["run-started", "run-ended"]);
  assert.equal(events.at(-1).reason, "completed");
  const ended = events.find(({ type }) => type === "tool-result");
  assert.deepEqual([ended.toolCallId, ended.status, ended.content], ["c1", "succeeded", "3 files"]);
  assert.deepEqual(events.map(({ seq }) => seq), events.map((_, at) => at + 1));
  assert.ok(events.every(({ runId }) => runId === "r1"));
});

test("a question that is handed over is no failure", () => {
  const follow = new AgentFollower({ words: "agent" });
  follow.message(init);
  follow.message(call("q1", "AskUserQuestion", { questions: [{ question: "Which?" }] }));
  const [asked] = follow.asked({ toolUseID: "q1", toolName: "AskUserQuestion", input: { questions: [{ question: "Which?" }] } });
  assert.deepEqual([asked.status, asked.requiresApproval, asked.description], ["waiting_approval", false, "Which?"]);
  const events = [
    ...follow.decision({ toolUseID: "q1", behavior: "deny", message: "answered elsewhere" }),
    ...follow.message(result("q1", "answered elsewhere", true)),
    ...follow.message(done),
    ...follow.finish(),
  ];
  const results = events.filter(({ type }) => type === "agent:tool-result");
  assert.deepEqual(results.map(({ status, isError, how }) => [status, isError, how]), [["success", false, "handed_over"]]);
  assert.deepEqual(types(events).filter((type) => type === "agent:complete").length, 1);
  assert.equal(events.at(-1).reason, "completed");
});

test("a denied call is denied, an interrupted one is closed, and both runs end once", () => {
  const denied = new AgentFollower();
  denied.message(init);
  denied.message(call("c1"));
  const events = [...denied.decision({ toolUseID: "c1", behavior: "deny" }), ...denied.message(result("c1", "no", true))];
  assert.deepEqual(types(events).slice(0, 2), ["approval-asked", "approval-answered"]);
  assert.ok(events.every(({ status }) => status !== "failed"));
  denied.close();
  const stopped = new AgentFollower({ words: "agent" });
  stopped.message(init);
  stopped.message(call("c1"));
  assert.deepEqual([stopped.state, stopped.calls], ["waiting", ["c1"]]);
  const ending = [...stopped.interrupt(), ...stopped.finish({ signal: "SIGTERM" })];
  assert.deepEqual(types(ending), ["agent:tool-result", "agent:complete"]);
  assert.deepEqual([ending[0].status, ending[1].reason], ["cancelled", "stopped"]);
});

test("times come from the clock of the host", () => {
  let now = 1000;
  const follow = new AgentFollower({ words: "agent", clock: () => now });
  const [started] = follow.message(init);
  follow.message(done);
  now = 3500;
  const complete = follow.finish().at(-1);
  assert.deepEqual([started.startedAt, complete.terminalAt, complete.duration], [1000, 3500, 2500]);
});

test("the same run is a stream of the AI SDK", () => {
  const follow = new AgentFollower({ words: "ai-sdk" });
  const chunks = [init, call("c1"), result("c1", "3 files"), done].flatMap((message) => follow.message(message));
  chunks.push(...follow.finish());
  assert.equal(chunks[0].type, "start");
  assert.ok(types(chunks).includes("tool-input-available") && types(chunks).includes("tool-output-available"));
  assert.equal(chunks.at(-1).type, "finish");
});

test("unknown ids and bad input are errors of the package, and the run goes on", () => {
  const follow = new AgentFollower();
  follow.message(init);
  follow.message(call("c1"));
  const circle = {};
  circle.self = circle;
  for (const input of [undefined, circle, 12n, () => {}]) assert.throws(() => follow.message(input), FoxwedgeError);
  for (const line of ["{", "null", "\ud800", "[".repeat(100_000), {}, [], 7, null]) {
    assert.deepEqual([...new Set(types(follow.message(line)))], ["unknown"], String(line).slice(0, 9));
  }
  assert.throws(() => follow.decision({ toolUseID: "x", behavior: "allow" }), { kind: "unknown-call" });
  assert.throws(() => follow.decision({ toolUseID: "c1" }), { kind: "unreadable" });
  assert.throws(() => follow.finish({ signal: "SIGNOTHING" }), { kind: "unreadable" });
  assert.throws(() => new AgentFollower({ word: "agent" }), { kind: "invalid-options", message: /no option `word`/ });
  assert.throws(() => new AgentFollower({ words: "french" }), { kind: "invalid-options" });
  assert.ok(follow.message(result("x", "whose?")).every(({ type }) => type !== "run-ended"));
  assert.equal(follow.message(result("c1", "ok"))[0].status, "succeeded");
  follow.finish();
  // Its place may be another one's.
  const next = new AgentFollower();
  assert.throws(() => follow.message(init), { kind: "unknown-stream" });
  follow.close();
  assert.equal(next.message(init)[0].type, "run-started");
});

test("random messages never stop a follower, and every run ends once", () => {
  let seed = 11;
  const random = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  const ids = ["a", "b", "", null, 7];
  const one = (follow) => {
    const id = ids[random(ids.length)];
    return [
      () => follow.message(init),
      () => follow.message(call(id, ["Bash", "AskUserQuestion", null][random(3)])),
      () => follow.message(result(id, "r", random(2) === 0)),
      () => follow.message({ ...done, is_error: random(2) === 0, uuid: String(random(1e9)) }),
      () => follow.message({ type: "assistant", message: [id] }),
      () => follow.decision({ toolUseID: id, behavior: random(2) ? "allow" : "deny", interrupt: random(9) === 0 }),
      () => follow.asked({ toolUseID: id, toolName: "Bash", input: id }),
      () => follow.prompt("more"),
      () => follow.interrupt(),
    ][random(9)]();
  };
  for (let round = 0; round < 400; round++) {
    const follow = new AgentFollower({ words: "agent" });
    const events = [];
    for (let step = random(30); step > 0; step--) {
      try {
        events.push(...one(follow));
      } catch (error) {
        assert.ok(["unknown-call", "unreadable"].includes(error.kind), error.stack);
      }
    }
    events.push(...follow.finish());
    const runs = new Set(events.map(({ runId }) => runId));
    for (const run of runs) {
      const own = events.filter(({ runId }) => runId === run);
      assert.equal(own.at(-1).type, "agent:complete", JSON.stringify(own));
      assert.equal(types(own).filter((type) => type === "agent:complete").length, 1);
    }
  }
});

test("every entry of the package is there for CommonJS, too", async () => {
  const require = createRequire(import.meta.url);
  const { exports: entries } = require("../package.json");
  const paths = Object.keys(entries).filter((path) => path.startsWith("./") && !path.endsWith(".wasm"));
  assert.ok(paths.includes("./follow") && paths.includes("./fetch"), paths.join());
  for (const path of paths) {
    const name = path.replace(".", "foxwedge");
    assert.deepEqual(Object.keys(require(name)).sort(), Object.keys(await import(name)).sort(), name);
  }
  const { AgentFollower: Required } = require("foxwedge/follow");
  assert.equal(new Required().message(init)[0].type, "run-started");
  const { repairMessages } = require("foxwedge/ai-sdk");
  const open = { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "f", input: {} }] };
  assert.equal(repairMessages([{ role: "user", content: "go" }, open, { role: "user", content: "?" }]).length, 4);
});
