// The Anthropic SDK: messages, with its own stream helper.

import Anthropic from "@anthropic-ai/sdk";
import { NEXT, PLAIN, TOOLS } from "../seat.mjs";

export async function talk(context) {
  const anthropic = client(context);
  const history = [user(context.question)];
  let message;
  for (;;) {
    message = await send(anthropic, context, history);
    history.push({ role: "assistant", content: message.content });
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    const results = calls.map(({ id, name, input }) => {
      return { type: "tool_result", tool_use_id: id, content: context.run(name, input) };
    });
    history.push(user(results));
  }
  history.push(user(NEXT));
  return [text(message), text(await send(anthropic, context, history))];
}

export async function say(context) {
  return [text(await send(client(context), context, [user(PLAIN)]))];
}

export async function broken(context) {
  const call = { type: "tool_use", id: "toolu_a", name: "weather", input: { city: "Ulm" } };
  const result = { type: "tool_result", tool_use_id: "toolu_nobody", content: "noon" };
  const history = [
    user("what is the weather?"),
    { role: "assistant", content: [call] },
    user("never mind"),
    { role: "assistant", content: "As you like." },
    user([result, { type: "text", text: PLAIN }]),
  ];
  return [text(await send(client(context), context, history))];
}

export async function models(context) {
  const names = [];
  for await (const model of client(context).models.list()) names.push(model.id);
  return names.sort();
}

export async function count(context) {
  const request = { model: context.model, messages: [user(PLAIN)] };
  const tokens = await client(context).messages.countTokens(request);
  return [String(tokens.input_tokens)];
}

function client(context) {
  const { origin, token, fetch } = context;
  return new Anthropic({ baseURL: origin, authToken: token, maxRetries: 0, fetch });
}

function send(anthropic, context, history) {
  const tools = TOOLS.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  const request = { model: context.model, max_tokens: 1024, messages: history, tools };
  if (!context.stream) return anthropic.messages.create(request);
  return anthropic.messages.stream(request).finalMessage();
}

function text(message) {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function user(content) {
  return { role: "user", content };
}
