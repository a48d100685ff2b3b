// Messages of Anthropic become messages of OpenAI. A result without its call is left out.
import { convert } from "foxwedge";

export function convertToOpenAiMessages(messages, toolStyle = "json") {
  const tools = toolStyle === "json" ? "native" : "text";
  return convert(messages, { from: "anthropic", to: "openai-chat", orphans: "drop", tools }).messages;
}
