// Messages, read by the SDK of Anthropic.

import Anthropic from "@anthropic-ai/sdk";

import * as normal from "./normal.mjs";
import { answering } from "./transport.mjs";

const REQUEST = { model: "any", max_tokens: 64, messages: [{ role: "user", content: "any" }] };
const STOPS = {
  end_turn: "end",
  tool_use: "calls",
  max_tokens: "length",
  stop_sequence: "sequence",
  pause_turn: "pause",
  model_context_window_exceeded: "context",
};

export async function response(body, reader, piece) {
  const { messages } = client(body, "response", piece);
  return told(await (reader === "helper" ? messages.parse(REQUEST) : messages.create(REQUEST)));
}

export async function stream(body, reader, piece) {
  const { messages } = client(body, "stream", piece);
  if (reader === "helper") return told(await messages.stream(REQUEST).finalMessage());
  return toldBy(await messages.create({ ...REQUEST, stream: true }));
}

function client(body, kind, piece) {
  const fetch = answering(body, kind, piece, (value) => value.type === "message");
  return new Anthropic({ apiKey: "none", maxRetries: 0, fetch, logLevel: "off" });
}

/** What a whole message says. */
function told(message) {
  const of = (type) => message.content.filter((block) => block.type === type);
  return normal.reading({
    text: of("text").map((block) => block.text).join(""),
    reasoning: of("thinking").map((block) => block.thinking).join(""),
    calls: of("tool_use").map((block) => normal.call(block.id, block.name, block.input)),
    stop: stopped(message),
    usage: used(message.usage),
    id: message.id,
    model: message.model,
  });
}

/** What the pieces say. Blocks stand one behind the other, and only closed ones count. */
async function toldBy(events) {
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
        if (open.type === "tool_use") calls.push(normal.call(open.id, open.name, normal.parsed(input || "{}")));
        open = null;
        break;
      case "message_delta":
        stop = event.delta;
        usage = merged(usage, event.usage);
        break;
      case "message_stop":
        normal.agree("an open block", open, null);
        ended = true;
        break;
    }
  }
  const word = ended && stop ? stopped(stop) : null;
  return normal.reading({ text, reasoning, calls, stop: word, usage: used(usage), id: head.id, model: head.model });
}

/** Figures of the end replace those of the beginning. */
function merged(usage, newer) {
  const known = Object.entries(newer).filter(([, value]) => value != null);
  return { ...usage, ...Object.fromEntries(known) };
}

function stopped({ stop_reason: word }) {
  return STOPS[word] ?? word;
}

function used(usage) {
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return { input: usage.input_tokens + cached, output: usage.output_tokens };
}
