// Responses, parsed by the OpenAI SDK.

import OpenAI from "openai";

import * as normal from "./normal.mjs";
import { fakeFetch } from "./transport.mjs";

const REQUEST = { model: "any", input: "any" };
const ENDS = ["response.completed", "response.incomplete", "response.failed"];
const REASONS = { max_output_tokens: "length", content_filter: "refusal" };
const DELTAS = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "text",
  "response.reasoning_summary_text.delta": "reasoning",
  "response.reasoning_text.delta": "reasoning",
  "response.function_call_arguments.delta": "arguments",
  "response.custom_tool_call_input.delta": "arguments",
};

export async function response(body, reader, chunkSize) {
  const { responses } = client(body, "response", chunkSize);
  return summarize(await (reader === "helper" ? responses.parse(REQUEST) : responses.create(REQUEST)));
}

export async function stream(body, reader, chunkSize) {
  const { responses } = client(body, "stream", chunkSize);
  if (reader === "helper") return summarizeHelper(responses.stream(REQUEST));
  return summarizeStream(await responses.create({ ...REQUEST, stream: true }));
}

function client(body, kind, chunkSize) {
  const fetch = fakeFetch(body, kind, chunkSize, (value) => "output" in value);
  return new OpenAI({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** Summarizes the result of the stream helper. */
async function summarizeHelper(events) {
  for await (const event of events) fail(event);
  return summarize(await events.finalResponse());
}

/** Summarizes a complete response. */
function summarize(response) {
  if (response.status === "failed") throw new normal.Failed(response.error.message);
  const of = (type) => response.output.filter((item) => item.type === type);
  const parts = of("message").flatMap((item) => item.content);
  const text = parts.map((part) => part.text ?? "").join("");
  const refusal = parts.map((part) => part.refusal ?? "").join("");
  const thoughts = of("reasoning").flatMap((item) => (item.summary?.length ? item.summary : (item.content ?? [])));
  const calls = response.output.filter(isCall).map(readCall);
  return normal.summary({
    text: text + refusal,
    reasoning: thoughts.map((part) => part.text).join(""),
    calls,
    stop: stopReason(response, calls, refusal),
    usage: tokenUsage(response.usage),
    id: response.id,
    model: response.model,
  });
}

/** Summarizes stream events. Deltas, items and the last event must agree. */
async function summarizeStream(events) {
  let [head, last, expected] = [null, null, 0];
  const items = [];
  const deltas = { text: [], reasoning: [], arguments: [] };
  for await (const event of events) {
    fail(event);
    expected = normal.agree("sequence_number", event.sequence_number, expected) + 1;
    const kind = deltas[DELTAS[event.type]];
    if (kind) kind[event.output_index] = (kind[event.output_index] ?? "") + event.delta;
    if (event.type === "response.created") head = event.response;
    if (event.type === "response.output_item.done") items[event.output_index] = event.item;
    if (ENDS.includes(event.type)) last = event.response;
  }
  const byItems = summarize({ ...head, output: items.filter(Boolean) });
  if (last === null) return { ...byItems, stop: null };
  const whole = summarize(last);
  normal.agree("head", [head.id, head.model], [last.id, last.model]);
  normal.agree("calls", whole.calls, byItems.calls);
  const rawCalls = last.output.filter(isCall).map(rawArguments).filter(Boolean);
  normal.agree("arguments", rawCalls, deltas.arguments.filter(Boolean));
  for (const kind of ["text", "reasoning"]) normal.agree(kind, whole[kind], byItems[kind], deltas[kind].join(""));
  return whole;
}

function fail(event) {
  if (event.type === "error") throw new normal.Failed(event.message);
  if (event.type === "response.failed") throw new normal.Failed(event.response.error.message);
}

function isCall(item) {
  return item.type === "function_call" || item.type === "custom_tool_call";
}

function rawArguments(item) {
  return item.type === "custom_tool_call" ? item.input : item.arguments;
}

function readCall(item) {
  const raw = rawArguments(item);
  return normal.call(item.call_id, item.name, item.type === "custom_tool_call" ? raw : normal.parseArguments(raw));
}

function stopReason(response, calls, refusal) {
  if (response.status === "completed") return refusal ? "refusal" : calls.length > 0 ? "calls" : "end";
  if (response.status !== "incomplete") return null;
  const { reason } = response.incomplete_details;
  return REASONS[reason] ?? reason;
}

function tokenUsage(usage) {
  return usage && { input: usage.input_tokens, output: usage.output_tokens };
}
