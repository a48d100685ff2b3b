// The SDK of OpenAI: chat completions and responses, put together by its own helpers.

import OpenAI from "openai";
import { NEXT, PLAIN, TOOLS } from "../seat.mjs";

export async function talk(seat) {
  return seat.face === "chat" ? chat(client(seat), seat) : respond(client(seat), seat);
}

export async function say(seat) {
  return [await text(seat, [user(PLAIN)])];
}

export async function broken(seat) {
  const called = { name: "weather", arguments: '{"city":"Ulm"}' };
  const answered = { role: "assistant", content: "As you like." };
  const chat = [
    user("what is the weather?"),
    { role: "assistant", content: null, tool_calls: [{ id: "call_a", type: "function", function: called }] },
    user("never mind"),
    answered,
    { role: "tool", tool_call_id: "call_nobody", content: "noon" },
    user(PLAIN),
  ];
  const responses = [
    user("what is the weather?"),
    { type: "function_call", call_id: "call_a", ...called },
    user("never mind"),
    answered,
    { type: "function_call_output", call_id: "call_nobody", output: "noon" },
    user(PLAIN),
  ];
  return [await text(seat, seat.face === "chat" ? chat : responses)];
}

export async function models(seat) {
  const names = [];
  for await (const model of client(seat).models.list()) names.push(model.id);
  return names.sort();
}

function client(seat) {
  return new OpenAI({ baseURL: seat.base, apiKey: seat.token, maxRetries: 0, fetch: seat.fetch });
}

async function chat(openai, seat) {
  const history = [user(seat.question)];
  let message;
  for (;;) {
    message = (await completion(openai, seat, history)).choices[0].message;
    history.push(message);
    if (!message.tool_calls?.length) break;
    for (const { id, function: called } of message.tool_calls) {
      history.push({ role: "tool", tool_call_id: id, content: seat.run(called.name, called.arguments) });
    }
  }
  history.push(user(NEXT));
  const last = await completion(openai, seat, history);
  return [message.content, last.choices[0].message.content];
}

async function respond(openai, seat) {
  const history = [user(seat.question)];
  let response;
  for (;;) {
    response = await responded(openai, seat, history);
    history.push(...response.output);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) break;
    for (const { call_id, name, arguments: given } of calls) {
      history.push({ type: "function_call_output", call_id, output: seat.run(name, given) });
    }
  }
  history.push(user(NEXT));
  return [response.output_text, said(await responded(openai, seat, history))];
}

async function text(seat, history) {
  if (seat.face === "chat") return (await completion(client(seat), seat, history)).choices[0].message.content;
  return said(await responded(client(seat), seat, history));
}

function completion(openai, seat, history) {
  const tools = TOOLS.map((tool) => ({ type: "function", function: tool }));
  const request = { model: seat.model, messages: history, tools };
  if (!seat.stream) return openai.chat.completions.create(request);
  return openai.chat.completions.stream(request).finalChatCompletion();
}

function responded(openai, seat, history) {
  const tools = TOOLS.map((tool) => ({ type: "function", strict: true, ...tool }));
  const request = { model: seat.model, input: history, tools, store: false };
  if (!seat.stream) return openai.responses.create(request);
  return openai.responses.stream(request).finalResponse();
}

function said(response) {
  return response.output_text;
}

function user(content) {
  return { role: "user", content };
}
