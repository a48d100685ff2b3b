// Responses, read by the SDK of OpenAI.

import OpenAI from "openai";

import * as normal from "./normal.mjs";
import { answering } from "./transport.mjs";

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

export async function response(body, reader, piece) {
  const { responses } = client(body, "response", piece);
  return told(await (reader === "helper" ? responses.parse(REQUEST) : responses.create(REQUEST)));
}

export async function stream(body, reader, piece) {
  const { responses } = client(body, "stream", piece);
  if (reader === "helper") return helped(responses.stream(REQUEST));
  return toldBy(await responses.create({ ...REQUEST, stream: true }));
}

function client(body, kind, piece) {
  const fetch = answering(body, kind, piece, (value) => "output" in value);
  return new OpenAI({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** What the SDK puts together. */
async function helped(events) {
  for await (const event of events) fail(event);
  return told(await events.finalResponse());
}

/** What a whole answer says. */
function told(answer) {
  if (answer.status === "failed") throw new normal.Failed(answer.error.message);
  const of = (type) => answer.output.filter((item) => item.type === type);
  const parts = of("message").flatMap((item) => item.content);
  const text = parts.map((part) => part.text ?? "").join("");
  const refusal = parts.map((part) => part.refusal ?? "").join("");
  const thoughts = of("reasoning").flatMap((item) => (item.summary?.length ? item.summary : (item.content ?? [])));
  const calls = answer.output.filter(isCall).map(called);
  return normal.reading({
    text: text + refusal,
    reasoning: thoughts.map((part) => part.text).join(""),
    calls,
    stop: stopped(answer, calls, refusal),
    usage: used(answer.usage),
    id: answer.id,
    model: answer.model,
  });
}

/** What the events say: the pieces, the items and the last event must tell the same. */
async function toldBy(events) {
  let [head, last, expected] = [null, null, 0];
  const items = [];
  const pieces = { text: [], reasoning: [], arguments: [] };
  for await (const event of events) {
    fail(event);
    expected = normal.agree("sequence_number", event.sequence_number, expected) + 1;
    const kind = pieces[DELTAS[event.type]];
    if (kind) kind[event.output_index] = (kind[event.output_index] ?? "") + event.delta;
    if (event.type === "response.created") head = event.response;
    if (event.type === "response.output_item.done") items[event.output_index] = event.item;
    if (ENDS.includes(event.type)) last = event.response;
  }
  const byItems = told({ ...head, output: items.filter(Boolean) });
  if (last === null) return { ...byItems, stop: null };
  const whole = told(last);
  normal.agree("head", [head.id, head.model], [last.id, last.model]);
  normal.agree("calls", whole.calls, byItems.calls);
  const spoken = last.output.filter(isCall).map(said).filter(Boolean);
  normal.agree("arguments", spoken, pieces.arguments.filter(Boolean));
  for (const kind of ["text", "reasoning"]) normal.agree(kind, whole[kind], byItems[kind], pieces[kind].join(""));
  return whole;
}

function fail(event) {
  if (event.type === "error") throw new normal.Failed(event.message);
  if (event.type === "response.failed") throw new normal.Failed(event.response.error.message);
}

function isCall(item) {
  return item.type === "function_call" || item.type === "custom_tool_call";
}

function said(item) {
  return item.type === "custom_tool_call" ? item.input : item.arguments;
}

function called(item) {
  const words = said(item);
  return normal.call(item.call_id, item.name, item.type === "custom_tool_call" ? words : normal.parsed(words));
}

function stopped(answer, calls, refusal) {
  if (answer.status === "completed") return refusal ? "refusal" : calls.length > 0 ? "calls" : "end";
  if (answer.status !== "incomplete") return null;
  const { reason } = answer.incomplete_details;
  return REASONS[reason] ?? reason;
}

function used(usage) {
  return usage && { input: usage.input_tokens, output: usage.output_tokens };
}
