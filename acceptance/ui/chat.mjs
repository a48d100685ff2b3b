// Chats with a gateway as user interfaces do: `HttpAgent` of AG-UI and `useChat`'s transport of the AI SDK, each with a
// tool of its own. Prints the results.
//
//     node chat.mjs < JOBS
//
// A job is one JSON object in a line: `client` is the package, `url` the endpoint, `token` the gateway's token.
// A result is one JSON object in a line: `refused` is why the client failed, or null; `texts` are the replies, `calls`
// the calls of the model as `NAME ARGUMENTS`.
// Node looks for packages beside the script, so it must run from a folder that holds both.

import { createInterface } from "node:readline";
import * as agui from "@ag-ui/client";
import * as agui0 from "@ag-ui/client-0";
import { DefaultChatTransport, readUIMessageStream } from "ai";

const CLIENTS = { "@ag-ui/client": chatWithAgent(agui), "@ag-ui/client-0": chatWithAgent(agui0), ai: chatWithTransport };

const TOOL = {
  name: "weather",
  description: "The weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const PROMPTS = ["good morning", 'call weather with {"city":"Ulm"}', "thank you"];
const RESULT = "sunny";

// AG-UI: the client runs the calls that the run left to it, and starts the next run.
function chatWithAgent({ HttpAgent }) {
  return async ({ url, token }) => {
    const agent = new HttpAgent({ url, headers: { authorization: `Bearer ${token}` } });
    const calls = [];
    for (const [at, content] of PROMPTS.entries()) {
      agent.addMessage({ id: `u${at}`, role: "user", content });
      for (let open = true; open; ) {
        await agent.runAgent({ tools: [TOOL] });
        const last = agent.messages.at(-1);
        open = false;
        for (const { id, function: call } of last.toolCalls ?? []) {
          calls.push(`${call.name} ${call.arguments}`);
          agent.addMessage({ id: `r-${id}`, role: "tool", toolCallId: id, content: RESULT });
          open = true;
        }
      }
    }
    const replies = agent.messages.filter(({ role, content }) => role === "assistant" && content);
    return { texts: replies.map(({ content }) => content), calls };
  };
}

// The AI SDK: what `useChat` does, without React.
async function chatWithTransport({ url, token }) {
  const headers = { authorization: `Bearer ${token}` };
  const tools = [{ type: "function", function: TOOL }];
  const transport = new DefaultChatTransport({ api: url, headers, body: { model: "scripted", tools } });
  const messages = [];
  const calls = [];
  for (const [at, text] of PROMPTS.entries()) {
    messages.push({ id: `u${at}`, role: "user", parts: [{ type: "text", text }] });
    for (let open = true; open; ) {
      const last = messages.at(-1);
      const sent = { chatId: "chat-1", messages, trigger: "submit-message", messageId: undefined };
      const stream = await transport.sendMessages({ ...sent, abortSignal: undefined });
      const continued = last.role === "assistant" ? structuredClone(last) : undefined;
      let reply;
      const onError = (error) => {
        throw error;
      };
      for await (const state of readUIMessageStream({ stream, message: continued, onError })) reply = state;
      if (continued && reply.id !== last.id) throw new Error("the reply does not continue its message");
      if (continued) messages.pop();
      messages.push(reply);
      open = false;
      for (const part of reply.parts.filter(({ state }) => state === "input-available")) {
        calls.push(`${part.toolName} ${JSON.stringify(part.input)}`);
        Object.assign(part, { state: "output-available", output: RESULT });
        open = true;
      }
    }
  }
  const replies = messages.filter(({ role }) => role === "assistant");
  const texts = replies.flatMap(({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text));
  const resumed = await transport.reconnectToStream({ chatId: "chat-1" });
  if (resumed !== null) throw new Error("a chat without a running reply was resumed");
  return { texts, calls };
}

async function chat(job) {
  try {
    return { refused: null, ...(await CLIENTS[job.client](job)) };
  } catch (error) {
    return { refused: `${error.constructor.name}: ${error.message}` };
  }
}

// Output of the clients must not mix with the results.
console.log = console.info = console.debug = console.warn = console.error = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await chat(JSON.parse(line)))}\n`);
}
process.exit(0);
