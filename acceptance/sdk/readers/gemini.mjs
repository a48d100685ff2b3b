// Generated content, read by the SDK of Google.

import { GoogleGenAI } from "@google/genai";

import * as normal from "./normal.mjs";
import { answering } from "./transport.mjs";

const STOPS = { STOP: "end", MAX_TOKENS: "length" };
const REFUSALS = ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"];

export async function response(body, reader, piece) {
  const sdk = client(body, "response", piece);
  if (reader === "helper") {
    const chat = sdk.chats.create({ model: "any" });
    return told([await chat.sendMessage({ message: "any" })], chat);
  }
  return told([await sdk.models.generateContent({ model: "any", contents: "any" })]);
}

export async function stream(body, reader, piece) {
  const sdk = client(body, "stream", piece);
  const chunks = [];
  if (reader === "helper") {
    const chat = sdk.chats.create({ model: "any" });
    for await (const chunk of await chat.sendMessageStream({ message: "any" })) chunks.push(chunk);
    return told(chunks, chat);
  }
  const arriving = await sdk.models.generateContentStream({ model: "any", contents: "any" });
  for await (const chunk of arriving) chunks.push(chunk);
  return told(chunks);
}

function client(body, kind, piece) {
  const fetch = answering(body, kind, piece, (value) => !("error" in value));
  return new GoogleGenAI({ apiKey: "none", httpOptions: { fetch } });
}

/** What the chunks say; of a chat, what it keeps as its history. */
function told(chunks, chat) {
  const candidates = chunks.flatMap((chunk) => chunk.candidates ?? []);
  const blocked = chunks.map((chunk) => chunk.promptFeedback?.blockReason);
  const finish = [...blocked, ...candidates.map((candidate) => candidate.finishReason)].filter(Boolean).at(-1);
  const contents = chat ? kept(chat) : candidates.map((candidate) => candidate.content);
  const parts = contents.flatMap((content) => content?.parts ?? []);
  const words = (isThought) => parts.filter((part) => part.text && Boolean(part.thought) === isThought);
  const calls = parts.filter((part) => part.functionCall).map(({ functionCall: it }) => normal.call(it.id, it.name, it.args ?? {}));
  return normal.reading({
    text: words(false).map((part) => part.text).join(""),
    reasoning: words(true).map((part) => part.text).join(""),
    calls,
    stop: stopped(finish, calls),
    usage: used(chunks.map((chunk) => chunk.usageMetadata).filter(Boolean).at(-1)),
    id: chunks[0].responseId,
    model: chunks[0].modelVersion,
  });
}

function kept(chat) {
  return chat.getHistory().filter((content) => content.role === "model");
}

function stopped(finish, calls) {
  if (finish === undefined) return null;
  if (finish === "STOP" && calls.length > 0) return "calls";
  return REFUSALS.includes(finish) ? "refusal" : (STOPS[finish] ?? finish);
}

function used(usage) {
  if (!usage) return null;
  return { input: usage.promptTokenCount, output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0) };
}
