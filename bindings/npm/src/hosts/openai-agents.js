// OpenAI Agents for JavaScript: a filter for the input of every request, and a session around another.

import { repairTranslated } from "./translate.js";

/** For `run(agent, input, { callModelInputFilter: repairInput() })`. */
export function repairInput(options) {
  return ({ modelData }) => ({ ...modelData, input: repairItems(modelData.input, options) });
}

/** A session whose items are repaired when they are read. */
export function repairSession(session, options) {
  const getItems = async (limit) => repairItems(await session.getItems(limit), options);
  return new Proxy(session, {
    get(target, name) {
      if (name === "getItems") return getItems;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The items of a run or a session, repaired. */
export function repairItems(items, options) {
  return repairTranslated(items, { ...options, format: "openai-responses", write, read });
}

/** An item in the words of the Responses API. */
function write(item) {
  const { callId, providerData, ...rest } = item;
  switch (item.type) {
    case "function_call":
      return { ...rest, call_id: callId };
    case "function_call_result": {
      const output = typeof item.output === "string" ? item.output : JSON.stringify(item.output);
      return { ...rest, type: "function_call_output", call_id: callId, output };
    }
    default:
      return item;
  }
}

function read(item) {
  const { call_id: callId, ...rest } = item;
  switch (item.type) {
    case "function_call":
      return { ...rest, callId };
    case "function_call_output":
      return { name: "tool", status: "completed", ...rest, type: "function_call_result", callId };
    default:
      return item;
  }
}
