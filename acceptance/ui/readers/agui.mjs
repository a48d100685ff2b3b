// AG-UI, read by the agent that browsers use: it takes the response apart, checks every event against its schema and
// against what came before, and builds the messages.

import * as now from "@ag-ui/client";
import * as before from "@ag-ui/client-0";
import { bytes, data, insist } from "./stream.mjs";

const CLIENTS = { "@ag-ui/client": now, "@ag-ui/client-0": before };

export async function read({ reader, stream, piece }) {
  const events = [];
  const agent = new CLIENTS[reader].HttpAgent({
    url: "http://localhost/",
    threadId: "s",
    fetch: async () => new Response(bytes(stream, piece), { headers: { "content-type": "text/event-stream" } }),
  });
  await agent.runAgent({ runId: "r" }, { onEvent: ({ event }) => void events.push(event) });
  insist(events.length === data(stream).length, `${data(stream).length} events were sent, ${events.length} arrived`);

  const ends = events.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  insist(ends.length === 1 && events.at(-1) === ends[0], `the run has ${ends.length} ends, or one in its middle`);
  const [end] = ends;
  const waits = new Set((end.outcome?.interrupts ?? []).map(({ toolCallId }) => toolCallId));
  const calls = {};
  for (const event of events) {
    if (event.type === "TOOL_CALL_START") {
      insist(!(event.toolCallId in calls), `the call ${event.toolCallId} begins twice`);
      calls[event.toolCallId] = null;
    }
    if (event.type === "TOOL_CALL_RESULT") {
      insist(calls[event.toolCallId] === null, `the call ${event.toolCallId} is answered twice, or never began`);
      calls[event.toolCallId] = event.metadata.status;
    }
    // What was told as failed may turn out to have been denied.
    if (event.type === "CUSTOM" && event.name === "foxwedge.tool-status") {
      const { toolCallId, status } = event.value;
      if (["failed", "interrupted", "denied"].includes(calls[toolCallId])) {
        insist(["denied", "handed_over"].includes(status), `the call ${toolCallId} goes on as ${status}`);
        calls[toolCallId] = status;
      }
    }
  }
  for (const [id, status] of Object.entries(calls)) {
    insist((status === null) === waits.has(id), `the call ${id} is ${status === null ? "not answered" : "answered"}`);
  }
  seen(agent.messages, calls);
  const own = agent.messages.filter(({ role, subagentRunId }) => role === "assistant" && subagentRunId === undefined);
  return { text: own.map(({ content }) => content ?? "").join(""), calls, end: word(end) };
}

// The messages are what a person sees, and what the next run is sent.
function seen(messages, calls) {
  const ids = messages.map(({ id }) => id);
  insist(new Set(ids).size === ids.length, `two messages have one id: ${ids}`);
  const made = messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  insist(made.length === Object.keys(calls).length, `${made.length} of ${Object.keys(calls).length} calls are shown`);
  const answered = messages.filter(({ role }) => role === "tool").map(({ toolCallId }) => toolCallId);
  const expected = Object.keys(calls).filter((id) => calls[id] !== null);
  insist(answered.sort().join() === expected.sort().join(), `answers are shown for ${answered}, not for ${expected}`);
}

function word(end) {
  if (end.type === "RUN_ERROR") return `error ${end.code}`;
  return `${end.outcome?.type ?? "finished"} ${end.metadata.finishedReason ?? "-"}`;
}
