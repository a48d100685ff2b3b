// AG-UI, read by the agent class that browsers use: it parses the response, checks every event against its schema and
// against earlier events, and builds the messages.

import * as now from "@ag-ui/client";
import * as before from "@ag-ui/client-0";
import { assert, bytes, data } from "./stream.mjs";

const CLIENTS = { "@ag-ui/client": now, "@ag-ui/client-0": before };

export async function read({ reader, stream, piece }) {
  const events = [];
  const agent = new CLIENTS[reader].HttpAgent({
    url: "http://localhost/",
    threadId: "s",
    fetch: async () => new Response(bytes(stream, piece), { headers: { "content-type": "text/event-stream" } }),
  });
  let understood;
  await agent.runAgent(
    { runId: "r" },
    {
      onEvent: ({ event }) => void events.push(event),
      onRunFinishedEvent: (finished) => void (understood = finished),
    },
  );
  assert(events.length === data(stream).length, `${data(stream).length} events were sent, ${events.length} arrived`);

  const ends = events.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  assert(ends.length === 1 && events.at(-1) === ends[0], `the run has ${ends.length} ends, or one in its middle`);
  const [end] = ends;
  const interrupted = new Set((end.outcome?.interrupts ?? []).map(({ toolCallId }) => toolCallId));
  const pending = end.outcome?.pendingToolCallIds ?? [];
  const calls = {};
  const answered = new Set();
  for (const event of events) {
    if (event.type === "TOOL_CALL_START") {
      assert(!(event.toolCallId in calls), `the call ${event.toolCallId} starts twice`);
      calls[event.toolCallId] = null;
    }
    if (event.type === "TOOL_CALL_RESULT") {
      assert(calls[event.toolCallId] === null, `the call ${event.toolCallId} has two results, or never started`);
      calls[event.toolCallId] = event.metadata.status;
      answered.add(event.toolCallId);
    }
    // A failed call may turn out to have been denied.
    if (event.type === "CUSTOM" && event.name === "foxwedge.tool-status") {
      const { toolCallId, status } = event.value;
      if (["failed", "interrupted", "denied"].includes(calls[toolCallId])) {
        assert(["denied", "handed_over"].includes(status), `the call ${toolCallId} changes to ${status}`);
        calls[toolCallId] = status;
      }
      // It has no result: the application answers it.
      if (pending.includes(toolCallId)) calls[toolCallId] = status;
    }
  }
  for (const id of Object.keys(calls)) {
    const isOpen = interrupted.has(id) || pending.includes(id);
    assert(answered.has(id) !== isOpen, `the call ${id} has ${answered.has(id) ? "a" : "no"} result`);
  }
  checkPendingCalls(CLIENTS[reader], understood, pending, Object.keys(calls), answered);
  checkMessages(agent.messages, calls, answered);
  const own = agent.messages.filter(({ role, subagentRunId }) => role === "assistant" && subagentRunId === undefined);
  return { text: own.map(({ content }) => content ?? "").join(""), calls, end: endName(end) };
}

// A client of 1.0 tells the application which calls it has to answer: those that the end names, or, if it names none,
// those without a result.
function checkPendingCalls(client, understood, pending, calls, answered) {
  if (client !== now || understood?.outcome !== "success") return;
  const expected = calls.filter((id) => !answered.has(id));
  assert(pending.join() === expected.join(), `${pending} are pending, and ${expected} have no result`);
  const heard = understood.pendingToolCallIds;
  assert(heard.join() === pending.join(), `${pending} were pending, ${heard} were understood`);
}

// Checks the messages, which the user sees and the next run gets.
function checkMessages(messages, calls, answered) {
  const ids = messages.map(({ id }) => id);
  assert(new Set(ids).size === ids.length, `two messages have one id: ${ids}`);
  const shownCalls = messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  const count = Object.keys(calls).length;
  assert(shownCalls.length === count, `${shownCalls.length} of ${count} calls are shown`);
  const withResult = messages.filter(({ role }) => role === "tool").map(({ toolCallId }) => toolCallId);
  const expected = [...answered];
  assert(withResult.sort().join() === expected.sort().join(), `results are shown for ${withResult}, not for ${expected}`);
}

function endName(end) {
  if (end.type === "RUN_ERROR") return `error ${end.code}`;
  return `${end.outcome?.type ?? "finished"} ${end.metadata.finishedReason ?? "-"}`;
}
