// The OpenAI SDK: chat completions and responses, with its own stream helpers.

import OpenAI from "openai";
import { NEXT, PLAIN, TOOLS } from "../seat.mjs";

export async function talk(context) {
  return context.face === "chat" ? runChat(client(context), context) : runResponses(client(context), context);
}

export async function say(context) {
  return [await text(context, [user(PLAIN)])];
}

export async function broken(context) {
  const call = { name: "weather", arguments: '{"city":"Ulm"}' };
  const reply = { role: "assistant", content: "As you like." };
  const chat = [
    user("what is the weather?"),
    { role: "assistant", content: null, tool_calls: [{ id: "call_a", type: "function", function: call }] },
    user("never mind"),
    reply,
    { role: "tool", tool_call_id: "call_nobody", content: "noon" },
    user(PLAIN),
  ];
  const responses = [
    user("what is the weather?"),
    { type: "function_call", call_id: "call_a", ...call },
    user("never mind"),
    reply,
    { type: "function_call_output", call_id: "call_nobody", output: "noon" },
    user(PLAIN),
  ];
  return [await text(context, context.face === "chat" ? chat : responses)];
}

export async function models(context) {
  const names = [];
  for await (const model of client(context).models.list()) names.push(model.id);
  return names.sort();
}

function client(context) {
  return new OpenAI({ baseURL: context.base, apiKey: context.token, maxRetries: 0, fetch: context.fetch });
}

async function runChat(openai, context) {
  const history = [user(context.question)];
  let message;
  for (;;) {
    message = (await createCompletion(openai, context, history)).choices[0].message;
    history.push(message);
    if (!message.tool_calls?.length) break;
    for (const { id, function: call } of message.tool_calls) {
      history.push({ role: "tool", tool_call_id: id, content: context.run(call.name, call.arguments) });
    }
  }
  history.push(user(NEXT));
  const last = await createCompletion(openai, context, history);
  return [message.content, last.choices[0].message.content];
}

async function runResponses(openai, context) {
  const history = [user(context.question)];
  let response;
  for (;;) {
    response = await createResponse(openai, context, history);
    history.push(...response.output);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) break;
    for (const { call_id, name, arguments: args } of calls) {
      history.push({ type: "function_call_output", call_id, output: context.run(name, args) });
    }
  }
  history.push(user(NEXT));
  return [response.output_text, outputText(await createResponse(openai, context, history))];
}

async function text(context, history) {
  if (context.face === "chat") {
    const completion = await createCompletion(client(context), context, history);
    return completion.choices[0].message.content;
  }
  return outputText(await createResponse(client(context), context, history));
}

function createCompletion(openai, context, history) {
  const tools = TOOLS.map((tool) => ({ type: "function", function: tool }));
  const request = { model: context.model, messages: history, tools };
  if (!context.stream) return openai.chat.completions.create(request);
  return openai.chat.completions.stream(request).finalChatCompletion();
}

function createResponse(openai, context, history) {
  const tools = TOOLS.map((tool) => ({ type: "function", strict: true, ...tool }));
  const request = { model: context.model, input: history, tools, store: false };
  if (!context.stream) return openai.responses.create(request);
  return openai.responses.stream(request).finalResponse();
}

function outputText(response) {
  return response.output_text;
}

function user(content) {
  return { role: "user", content };
}
