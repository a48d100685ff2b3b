// LangChain and LangGraph for JavaScript: a middleware for `createAgent`, and a function for graphs.

import { repairTranslated } from "./translate.js";

/** Repairs the messages of every request to the model. The stored messages stay as they are. */
export function repairMiddleware(options) {
  return {
    name: "FoxwedgeRepair",
    wrapModelCall: (request, handler) => handler({ ...request, messages: repairMessages(request.messages, options) }),
  };
}

/** Messages of LangChain, repaired. Every message that is not touched is the same object. */
export function repairMessages(messages, options) {
  return repairTranslated(messages, { ...options, format: "openai-chat", write, read: (message) => message });
}

/** A message in the words of Chat Completions. LangChain also reads them, so there is no way back. */
function write(message) {
  const type = message.getType?.() ?? message.type;
  switch (type) {
    case "human":
      return { role: "user", content: message.content };
    case "system":
      return { role: "system", content: message.content };
    case "tool":
      return { role: "tool", tool_call_id: message.tool_call_id, content: message.content };
    case "ai": {
      const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      }));
      return { role: "assistant", content: message.content, ...(calls.length > 0 && { tool_calls: calls }) };
    }
    default:
      return message;
  }
}
