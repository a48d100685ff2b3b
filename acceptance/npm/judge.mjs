// A provider on this machine. It answers 400 unless every call has its result and every result its
// call, by a reading of its own: it knows nothing of foxwedge.

import { createServer } from "node:http";

export async function startJudge() {
  const bodies = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const body = JSON.parse(text);
    bodies.push(body);
    const [, refuse, reply] = ENDPOINTS.find(([path]) => request.url.endsWith(path)) ?? [];
    const complaint = refuse?.(body);
    response.writeHead(complaint ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(complaint ? { error: { type: "invalid_request_error", message: complaint } } : reply));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, bodies, stop: () => server.close() };
}

const ENDPOINTS = [
  ["/chat/completions", refuseChat, {
    id: "r", object: "chat.completion", created: 1, model: "m",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "done" } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }],
  ["/responses", refuseResponses, {
    id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m", error: null, incomplete_details: null,
    output: [{ id: "msg_1", type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done", annotations: [] }] }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  }],
  ["/messages", refuseMessages, {
    id: "msg_1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "done" }],
    stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 },
  }],
];

function refuseChat({ messages }) {
  let open = [];
  for (const { role, tool_calls: calls = [], tool_call_id: id } of messages) {
    if (role === "tool") {
      if (!open.includes(id)) return `tool message ${id} follows no call`;
      open = open.filter((other) => other !== id);
    } else {
      if (open.length > 0) return `calls ${open} are not followed by tool messages`;
      open = calls.map((call) => call.id);
    }
  }
  return open.length > 0 ? `calls ${open} are not followed by tool messages` : undefined;
}

function refuseResponses({ input }) {
  if (typeof input === "string") return undefined;
  const ids = (type) => input.filter((item) => item.type === type).map((item) => item.call_id);
  const [calls, outputs] = [ids("function_call"), ids("function_call_output")];
  const open = calls.find((id) => !outputs.includes(id));
  const orphan = outputs.find((id) => !calls.includes(id));
  if (open) return `No tool output found for function call ${open}.`;
  return orphan ? `No tool call found for function call output with call_id ${orphan}.` : undefined;
}

function refuseMessages({ messages }) {
  const blocks = (message, type) => (Array.isArray(message?.content) ? message.content.filter((block) => block.type === type) : []);
  for (const [index, message] of messages.entries()) {
    const results = blocks(message, "tool_result").map((block) => block.tool_use_id);
    const calls = blocks(messages[index - 1], "tool_use").map((block) => block.id);
    if (results.some((id) => !calls.includes(id))) return `messages.${index}: unexpected tool_use_id`;
    const answered = blocks(messages[index + 1], "tool_result").map((block) => block.tool_use_id);
    if (blocks(message, "tool_use").some(({ id }) => !answered.includes(id))) return `messages.${index}: tool_use without tool_result`;
  }
  return undefined;
}
