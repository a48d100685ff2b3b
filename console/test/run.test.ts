import assert from "node:assert/strict";
import { test } from "node:test";

import { Notes } from "../src/data/notes.js";
import { isLabelShown, rowsOf, ticks } from "../src/pages/run/order.js";
import { type ToolTruth, createSession } from "../src/run.js";

const tool = (call: string, turn: number, parent?: string): ToolTruth => ({
  call,
  turn,
  called: true,
  status: "succeeded",
  ...(parent === undefined ? {} : { parent }),
});

const drawn = (tools: readonly ToolTruth[]) =>
  rowsOf(tools).map(({ tool, depth, joinedUp, joinedDown }) => {
    const joint = joinedUp ? (joinedDown ? "├" : "└") : joinedDown ? "┌" : "-";
    return `${"  ".repeat(depth)}${joint}${tool.call}`;
  });

test("calls of one message are joined, calls of sub-agents are below their parent", () => {
  const tools = [
    tool("a", 1),
    tool("b", 1),
    tool("c", 2),
    tool("d", 2, "c"),
    tool("e", 2, "d"),
    tool("f", 1, "a"),
  ];
  assert.deepEqual(drawn(tools), ["-a", "  -f", "-b", "-c", "  -d", "    -e"]);
  assert.deepEqual(drawn([tool("a", 1), tool("b", 1), tool("c", 1)]), ["┌a", "├b", "└c"]);
});

test("no call is lost, whatever its parent is", () => {
  const tools = [
    tool("a", 1, "b"),
    tool("b", 1, "a"),
    tool("c", 1, "c"),
    tool("d", 1, "unknown"),
    tool("c", 2, "a"),
  ];
  assert.equal(rowsOf(tools).length, tools.length);
});

test("the times of a call are those of its events", () => {
  const announced: string[] = [];
  const notes = new Notes(({ change, tool }) => {
    announced.push(`${change.type} ${tool ?? ""}`.trim());
  });
  const session = createSession({ onEffect: notes.onEffect });
  const events = [
    { type: "run-started", runId: "r", seq: 1, at: 1_000, agent: "x" },
    { type: "tool-call", runId: "r", seq: 2, at: 1_100, toolCallId: "a", name: "Bash" },
    {
      type: "tool-call",
      runId: "r",
      seq: 3,
      at: 1_200,
      toolCallId: "a",
      name: "Bash",
      input: {},
      status: "running",
    },
    { type: "text", runId: "r", seq: 4, at: 1_250, delta: "text is not announced" },
    { type: "tool-result", runId: "r", seq: 5, at: 1_900, toolCallId: "a", status: "succeeded" },
    { type: "run-ended", runId: "r", seq: 6, at: 2_000, reason: "completed" },
  ];
  for (const event of [...events, ...events]) session.apply(event, 0);
  const known = notes.of("a", 0);
  assert.deepEqual([known?.opened, known?.begun, known?.settled], [1_100, 1_200, 1_900]);
  assert.deepEqual([notes.startedAt, notes.endedAt], [1_000, 2_000]);
  assert.deepEqual(announced, ["toolStatus Bash", "toolSettled Bash", "runEnded"]);
});

test("labels of an axis end on it on a phone", () => {
  assert.ok(isLabelShown(0, "0", true));
  assert.ok(isLabelShown(0.7, "20 s", true));
  assert.ok(!isLabelShown(0.63, "1 min 0 s", true));
  assert.ok(isLabelShown(0.63, "1 min 0 s", false));
  assert.ok(!isLabelShown(0.95, "1 s", false));
});

test("an axis has a few round ticks", () => {
  assert.deepEqual(ticks(19_000, 5), [0, 5_000, 10_000, 15_000]);
  assert.deepEqual(ticks(0, 5), [0]);
  for (const length of [1, 700, 61_000, 9e6, 1e9])
    assert.ok(ticks(length, 5).length <= 7, `${length}`);
});
