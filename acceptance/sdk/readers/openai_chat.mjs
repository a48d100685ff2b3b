// Chat completions, parsed by the OpenAI SDK.

import OpenAI from "openai";

import * as normal from "./normal.mjs";
import { fakeFetch } from "./transport.mjs";

const REQUEST = { model: "any", messages: [] };
const STOPS = { stop: "end", length: "length", tool_calls: "calls", function_call: "calls", content_filter: "refusal" };

export async function response(body, reader, chunkSize) {
  return summarize(await client(body, "response", chunkSize).chat.completions.create(REQUEST));
}

export async function stream(body, reader, chunkSize) {
  const { completions } = client(body, "stream", chunkSize).chat;
  // Reasoning is a field of other vendors; the SDK keeps only the last delta of unknown fields.
  if (reader === "helper") {
    return { ...summarize(await completions.stream(REQUEST).finalChatCompletion()), reasoning: "" };
  }
  return summarizeStream(await completions.create({ ...REQUEST, stream: true }));
}

function client(body, kind, chunkSize) {
  const fetch = fakeFetch(body, kind, chunkSize, (value) => "choices" in value);
  return new OpenAI({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** Summarizes a complete chat completion. */
function summarize(completion) {
  const [{ message, finish_reason }] = completion.choices;
  return normal.summary({
    text: (message.content ?? "") + (message.refusal ?? ""),
    reasoning: message.reasoning_content,
    calls: (message.tool_calls ?? []).map(readCall),
    stop: stopReason(finish_reason, message.refusal),
    usage: tokenUsage(completion.usage),
    id: completion.id,
    model: completion.model,
  });
}

/** Summarizes chunks, combined by their indexes. */
async function summarizeStream(chunks) {
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
      for (const callDelta of delta.tool_calls ?? []) add((calls[callDelta.index] ??= { text: "" }), callDelta);
    }
  }
  return normal.summary({
    text: text + refusal,
    reasoning,
    calls: calls.map(finished),
    stop: stopReason(finish, refusal),
    usage: tokenUsage(usage),
    id: head.id,
    model: head.model,
  });
}

function add(call, callDelta) {
  call.id = callDelta.id ?? call.id;
  call.isText ||= Boolean(callDelta.custom);
  call.name = callDelta.custom?.name ?? callDelta.function?.name ?? call.name;
  call.text += callDelta.custom?.input ?? callDelta.function?.arguments ?? "";
}

function finished({ id, name, text, isText }) {
  return normal.call(id, name, isText ? text : normal.parseArguments(text));
}

function readCall(call) {
  if (call.type === "custom") return normal.call(call.id, call.custom.name, call.custom.input);
  return normal.call(call.id, call.function.name, normal.parseArguments(call.function.arguments));
}

function stopReason(finish, refusal) {
  if (finish == null) return null;
  return refusal ? "refusal" : (STOPS[finish] ?? finish);
}

function tokenUsage(usage) {
  return usage && { input: usage.prompt_tokens, output: usage.completion_tokens };
}
