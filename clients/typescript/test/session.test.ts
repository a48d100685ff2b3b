import assert from "node:assert/strict";
import { test } from "node:test";

import { type ClockLike, type Effect, createSession, keepTime } from "../src/index.js";

const START = { type: "run-started", runId: "run-a" };
const CALL = {
  type: "tool-call",
  runId: "run-a",
  toolCallId: "t1",
  name: "Bash",
  input: { n: [1] },
};
const TEXT = { type: "text", runId: "run-a", messageId: "m1", delta: "Hi" };

test("a snapshot is the same object until something changes, and so are its parts", () => {
  const session = createSession();
  const empty = session.getSnapshot();
  assert.equal(session.getSnapshot(), empty);
  session.tick(5);
  assert.equal(session.getSnapshot(), empty);
  session.apply(START, 5);
  session.apply(CALL, 5);
  const before = session.getSnapshot();
  assert.notEqual(before, empty);
  session.apply(TEXT, 6);
  const after = session.getSnapshot();
  assert.notEqual(after, before);
  assert.notEqual(after.runs[0], before.runs[0]);
  assert.equal(after.runs[0]?.tools, before.runs[0]?.tools);
  assert.equal(after.runs[0]?.usage, before.runs[0]?.usage);
  assert.equal(session.snapshot(), after);
});

test("listeners are called until they unsubscribe, and effects are reported in order", () => {
  const effects: string[] = [];
  const session = createSession({ onEffect: (effect) => effects.push(effect.type) });
  let calls = 0;
  const unsubscribe = session.subscribe(() => (calls += 1));
  session.tick(0);
  assert.equal(calls, 0);
  const returned = session.apply(START, 0);
  assert.deepEqual(effects, ["emit", "show"]);
  assert.deepEqual(
    returned.map((effect) => effect.type),
    effects,
  );
  assert.equal(calls, 1);
  unsubscribe();
  session.apply(TEXT, 0);
  assert.equal(calls, 1);
});

test("an event may be text or an object, and anything else gives a warning", () => {
  const session = createSession();
  session.apply(JSON.stringify(START), 0);
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const table: [string | object, string][] = [
    ["{", "not_json"],
    ["7", "not_object"],
    [[], "not_object"],
    [{ type: "stop" }, "no_run"],
    [{ runId: "run-a" }, "no_type"],
    [circular, "not_json"],
    [{ runId: "run-a", type: 1n }, "not_json"],
    [() => 1, "not_json"],
  ];
  for (const [line, why] of table) {
    const [effect] = session.apply(line, 0);
    assert.equal(
      effect?.type === "warn" && effect.warning.code === "unreadable" && effect.warning.why,
      why,
    );
  }
});

test("an answer is delivered as a readable event", () => {
  const session = createSession();
  session.apply(START, 0);
  session.apply({ ...CALL, name: "AskUserQuestion" }, 0);
  const routed = session.route({
    run: "run-a",
    call: "t1",
    verdict: "answered",
    answer: { a: "b" },
  });
  assert.deepEqual(routed, {
    type: "deliver",
    event: {
      type: "question-answered",
      runId: "run-a",
      toolCallId: "t1",
      toolId: "t1",
      turn: 0,
      requestId: "t1",
      verdict: "answered",
      answer: { a: "b" },
    },
  });
});

test("timers are set only for deadlines", () => {
  let now = 0;
  const planned = new Map<number, () => void>();
  const clock: ClockLike = {
    now: () => now,
    setTimer: (run, milliseconds) => {
      const at = now + milliseconds;
      planned.set(at, () => {
        planned.delete(at);
        run();
      });
      return at;
    },
    clearTimer: (at) => planned.delete(at as number),
  };
  const moments = () => [...planned.keys()];
  const effects: Effect[] = [];
  const session = createSession({ onEffect: (effect) => effects.push(effect) });
  const stop = keepTime(session, clock);
  assert.deepEqual(moments(), []);
  session.apply(TEXT, now);
  assert.deepEqual(moments(), [2_000]);
  session.apply(START, now);
  assert.deepEqual(moments(), []);
  now = 100;
  session.apply({ ...TEXT, runId: "run-b" }, now);
  assert.deepEqual(moments(), [2_100]);
  now = 2_100;
  effects.length = 0;
  planned.get(2_100)?.();
  assert.deepEqual(
    effects.map((effect) => effect.type === "warn" && effect.warning.code),
    ["never_started"],
  );
  session.apply({ ...TEXT, runId: "run-c" }, now);
  assert.deepEqual(moments(), [4_100]);
  stop();
  assert.deepEqual(moments(), []);
});

test("a run of a hundred thousand events is applied", () => {
  const session = createSession();
  session.apply(START, 0);
  for (let at = 0; at < 50_000; at += 1) {
    session.apply({ type: "tool-call", runId: "run-a", name: "Bash", input: {} }, at);
  }
  for (let at = 0; at < 50_000; at += 1) {
    session.apply({ type: "tool-result", runId: "run-a", content: at }, at);
  }
  assert.deepEqual(session.truth().runs[0]?.summary, {
    calls: 50_000,
    byStatus: { succeeded: 50_000 },
  });
});

test("a payload of a megabyte is kept unchanged", () => {
  const session = createSession();
  session.apply(START, 0);
  session.apply(CALL, 0);
  const content = { text: '\\"x\u{1f600}'.repeat(200_000) };
  session.apply({ type: "tool-result", runId: "run-a", toolCallId: "t1", content }, 0);
  assert.deepEqual(session.truth().runs[0]?.tools[0]?.content, content);
});
