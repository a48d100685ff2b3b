// The SDK of Anthropic: messages, put together by its own helpers.

import Anthropic from "@anthropic-ai/sdk";
import { NEXT, PLAIN, TOOLS } from "../seat.mjs";

export async function talk(seat) {
  const anthropic = client(seat);
  const history = [user(seat.question)];
  let message;
  for (;;) {
    message = await asked(anthropic, seat, history);
    history.push({ role: "assistant", content: message.content });
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    const answers = calls.map(({ id, name, input }) => {
      return { type: "tool_result", tool_use_id: id, content: seat.run(name, input) };
    });
    history.push(user(answers));
  }
  history.push(user(NEXT));
  return [text(message), text(await asked(anthropic, seat, history))];
}

export async function say(seat) {
  return [text(await asked(client(seat), seat, [user(PLAIN)]))];
}

export async function broken(seat) {
  const called = { type: "tool_use", id: "toolu_a", name: "weather", input: { city: "Ulm" } };
  const answer = { type: "tool_result", tool_use_id: "toolu_nobody", content: "noon" };
  const history = [
    user("what is the weather?"),
    { role: "assistant", content: [called] },
    user("never mind"),
    { role: "assistant", content: "As you like." },
    user([answer, { type: "text", text: PLAIN }]),
  ];
  return [text(await asked(client(seat), seat, history))];
}

export async function models(seat) {
  const names = [];
  for await (const model of client(seat).models.list()) names.push(model.id);
  return names.sort();
}

export async function count(seat) {
  const counted = await client(seat).messages.countTokens({ model: seat.model, messages: [user(PLAIN)] });
  return [String(counted.input_tokens)];
}

function client(seat) {
  return new Anthropic({ baseURL: seat.origin, authToken: seat.token, maxRetries: 0, fetch: seat.fetch });
}

function asked(anthropic, seat, history) {
  const tools = TOOLS.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  const request = { model: seat.model, max_tokens: 1024, messages: history, tools };
  if (!seat.stream) return anthropic.messages.create(request);
  return anthropic.messages.stream(request).finalMessage();
}

function text(message) {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function user(content) {
  return { role: "user", content };
}
