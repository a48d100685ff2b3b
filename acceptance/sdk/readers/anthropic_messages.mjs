// Messages, parsed by the Anthropic SDK.

import Anthropic from "@anthropic-ai/sdk";

import * as normal from "./normal.mjs";
import { fakeFetch } from "./transport.mjs";

const REQUEST = { model: "any", max_tokens: 64, messages: [{ role: "user", content: "any" }] };
const STOPS = {
  end_turn: "end",
  tool_use: "calls",
  max_tokens: "length",
  stop_sequence: "sequence",
  pause_turn: "pause",
  model_context_window_exceeded: "context",
};

export async function response(body, reader, chunkSize) {
  const { messages } = client(body, "response", chunkSize);
  return summarize(await (reader === "helper" ? messages.parse(REQUEST) : messages.create(REQUEST)));
}

export async function stream(body, reader, chunkSize) {
  const { messages } = client(body, "stream", chunkSize);
  if (reader === "helper") return summarize(await messages.stream(REQUEST).finalMessage());
  return summarizeStream(await messages.create({ ...REQUEST, stream: true }));
}

function client(body, kind, chunkSize) {
  const fetch = fakeFetch(body, kind, chunkSize, (value) => value.type === "message");
  return new Anthropic({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** Summarizes a complete message. */
function summarize(message) {
  const of = (type) => message.content.filter((block) => block.type === type);
  return normal.summary({
    text: of("text").map((block) => block.text).join(""),
    reasoning: of("thinking").map((block) => block.thinking).join(""),
    calls: of("tool_use").map((block) => normal.call(block.id, block.name, block.input)),
    stop: stopReason(message),
    usage: tokenUsage(message.usage),
    id: message.id,
    model: message.model,
  });
}

/** Summarizes stream events. Blocks come one after the other, and only closed ones count. */
async function summarizeStream(events) {
  let [head, stop, ended, usage, open, blocks] = [null, null, false, null, null, 0];
  let [text, reasoning, input] = ["", "", ""];
  const calls = [];
  for await (const event of events) {
    switch (event.type) {
      case "message_start":
        head = event.message;
        usage = { ...head.usage };
        break;
      case "content_block_start":
        normal.agree("an open block", open, null);
        blocks = normal.agree("index", event.index, blocks) + 1;
        [open, input] = [event.content_block, ""];
        break;
      case "content_block_delta":
        normal.agree("index", event.index, blocks - 1);
        text += event.delta.text ?? "";
        reasoning += event.delta.thinking ?? "";
        input += event.delta.partial_json ?? "";
        break;
      case "content_block_stop":
        normal.agree("index", event.index, blocks - 1);
        if (open.type === "tool_use") {
          calls.push(normal.call(open.id, open.name, normal.parseArguments(input || "{}")));
        }
        open = null;
        break;
      case "message_delta":
        stop = event.delta;
        usage = mergeUsage(usage, event.usage);
        break;
      case "message_stop":
        normal.agree("an open block", open, null);
        ended = true;
        break;
    }
  }
  return normal.summary({
    text,
    reasoning,
    calls,
    stop: ended && stop ? stopReason(stop) : null,
    usage: tokenUsage(usage),
    id: head.id,
    model: head.model,
  });
}

/** Usage at the end replaces usage at the start. */
function mergeUsage(usage, newer) {
  const known = Object.entries(newer).filter(([, value]) => value != null);
  return { ...usage, ...Object.fromEntries(known) };
}

function stopReason({ stop_reason: stopName }) {
  return STOPS[stopName] ?? stopName;
}

function tokenUsage(usage) {
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return { input: usage.input_tokens + cached, output: usage.output_tokens };
}
