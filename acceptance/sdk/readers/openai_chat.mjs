// Chat completions, read by the SDK of OpenAI.

import OpenAI from "openai";

import * as normal from "./normal.mjs";
import { answering } from "./transport.mjs";

const REQUEST = { model: "any", messages: [] };
const STOPS = { stop: "end", length: "length", tool_calls: "calls", function_call: "calls", content_filter: "refusal" };

export async function response(body, reader, piece) {
  return told(await client(body, "response", piece).chat.completions.create(REQUEST));
}

export async function stream(body, reader, piece) {
  const { completions } = client(body, "stream", piece).chat;
  // Reasoning is a field of other vendors; the SDK keeps the last piece of what it does not know.
  if (reader === "helper") return { ...told(await completions.stream(REQUEST).finalChatCompletion()), reasoning: "" };
  return toldBy(await completions.create({ ...REQUEST, stream: true }));
}

function client(body, kind, piece) {
  const fetch = answering(body, kind, piece, (value) => "choices" in value);
  return new OpenAI({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** What a whole completion says. */
function told(completion) {
  const [{ message, finish_reason }] = completion.choices;
  return normal.reading({
    text: (message.content ?? "") + (message.refusal ?? ""),
    reasoning: message.reasoning_content,
    calls: (message.tool_calls ?? []).map(called),
    stop: stopped(finish_reason, message.refusal),
    usage: used(completion.usage),
    id: completion.id,
    model: completion.model,
  });
}

/** What the pieces say, put together by their indexes. */
async function toldBy(chunks) {
  let [text, refusal, reasoning, finish, usage, head] = ["", "", "", null, null, null];
  const calls = [];
  for await (const chunk of chunks) {
    head ??= chunk;
    usage = chunk.usage ?? usage;
    for (const { delta, finish_reason } of chunk.choices.filter((choice) => choice.index === 0)) {
      text += delta.content ?? "";
      refusal += delta.refusal ?? "";
      reasoning += delta.reasoning_content ?? "";
      finish = finish_reason ?? finish;
      for (const piece of delta.tool_calls ?? []) add((calls[piece.index] ??= { text: "" }), piece);
    }
  }
  return normal.reading({
    text: text + refusal,
    reasoning,
    calls: calls.map(finished),
    stop: stopped(finish, refusal),
    usage: used(usage),
    id: head.id,
    model: head.model,
  });
}

function add(call, piece) {
  call.id = piece.id ?? call.id;
  call.isText ||= Boolean(piece.custom);
  call.name = piece.custom?.name ?? piece.function?.name ?? call.name;
  call.text += piece.custom?.input ?? piece.function?.arguments ?? "";
}

function finished({ id, name, text, isText }) {
  return normal.call(id, name, isText ? text : normal.parsed(text));
}

function called(call) {
  if (call.type === "custom") return normal.call(call.id, call.custom.name, call.custom.input);
  return normal.call(call.id, call.function.name, normal.parsed(call.function.arguments));
}

function stopped(finish, refusal) {
  if (finish == null) return null;
  return refusal ? "refusal" : (STOPS[finish] ?? finish);
}

function used(usage) {
  return usage && { input: usage.prompt_tokens, output: usage.completion_tokens };
}
