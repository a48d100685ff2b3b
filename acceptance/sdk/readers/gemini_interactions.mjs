// Interactions, parsed by the Google SDK.

import { GoogleGenAI } from "@google/genai";

import * as normal from "./normal.mjs";
import { fakeFetch } from "./transport.mjs";

const STOPS = { completed: "end", requires_action: "calls", incomplete: "length", in_progress: null };

export async function response(body, _reader, chunkSize) {
  const result = await client(body, "response", chunkSize).interactions.create({ model: "any", input: "any" });
  return summarize(result, result.steps ?? []);
}

export async function stream(body, _reader, chunkSize) {
  const sdk = client(body, "stream", chunkSize);
  const events = await sdk.interactions.create({ model: "any", input: "any", stream: true });
  let last;
  const steps = [];
  for await (const event of events) {
    if (event.event_type === "error") throw new normal.Failed(event.error?.message ?? "no reason");
    if (event.event_type.startsWith("interaction.")) last = event.interaction ?? last;
    if (event.event_type === "step.start") steps[event.index] = { ...event.step, pieces: "", isComplete: false };
    if (event.event_type === "step.delta") addDelta(steps[event.index], event.delta);
    if (event.event_type === "step.stop") steps[event.index].isComplete = true;
  }
  return summarize(last, steps);
}

function addDelta(step, delta) {
  if (delta.type === "text") step.content = [...(step.content ?? []), delta];
  if (delta.type === "thought_summary") step.summary = [...(step.summary ?? []), delta.content];
  if (delta.type === "arguments_delta") step.pieces += delta.arguments;
}

function client(body, kind, chunkSize) {
  const fetch = fakeFetch(body, kind, chunkSize, (value) => !("error" in value));
  return new GoogleGenAI({ apiKey: "none", httpOptions: { fetch } });
}

function summarize(interaction, steps) {
  const of = (type) => steps.filter((step) => step.type === type);
  const texts = (blocks) => blocks.map((block) => block?.text ?? "").join("");
  // A step of a stream that was cut off has only a part of its arguments.
  const args = (step) => {
    if (step.isComplete === false) return step.pieces;
    return step.pieces ? normal.parseArguments(step.pieces) : (step.arguments ?? {});
  };
  const usage = interaction.usage;
  return normal.summary({
    text: texts(of("model_output").flatMap((step) => step.content ?? [])),
    reasoning: texts(of("thought").flatMap((step) => step.summary ?? [])),
    calls: of("function_call").map((step) => normal.call(step.id, step.name, args(step))),
    stop: interaction.status in STOPS ? STOPS[interaction.status] : interaction.status,
    usage: usage && { input: usage.total_input_tokens, output: outputTokens(usage) },
    id: interaction.id,
    model: interaction.model,
  });
}

function outputTokens(usage) {
  return (usage.total_output_tokens ?? 0) + (usage.total_thought_tokens ?? 0);
}
