// Generated content, parsed by the Google SDK.

import { GoogleGenAI } from "@google/genai";

import * as normal from "./normal.mjs";
import { fakeFetch } from "./transport.mjs";

const STOPS = { STOP: "end", MAX_TOKENS: "length" };
const REFUSALS = ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"];

export async function response(body, reader, chunkSize) {
  const sdk = client(body, "response", chunkSize);
  if (reader === "helper") {
    const chat = sdk.chats.create({ model: "any" });
    return summarize([await chat.sendMessage({ message: "any" })], chat);
  }
  return summarize([await sdk.models.generateContent({ model: "any", contents: "any" })]);
}

export async function stream(body, reader, chunkSize) {
  const sdk = client(body, "stream", chunkSize);
  const chunks = [];
  if (reader === "helper") {
    const chat = sdk.chats.create({ model: "any" });
    for await (const chunk of await chat.sendMessageStream({ message: "any" })) chunks.push(chunk);
    return summarize(chunks, chat);
  }
  const chunkStream = await sdk.models.generateContentStream({ model: "any", contents: "any" });
  for await (const chunk of chunkStream) chunks.push(chunk);
  return summarize(chunks);
}

function client(body, kind, chunkSize) {
  const fetch = fakeFetch(body, kind, chunkSize, (value) => !("error" in value));
  return new GoogleGenAI({ apiKey: "none", httpOptions: { fetch } });
}

/** Summarizes chunks; for a chat, its history. */
function summarize(chunks, chat) {
  const candidates = chunks.flatMap((chunk) => chunk.candidates ?? []);
  const blocked = chunks.map((chunk) => chunk.promptFeedback?.blockReason);
  const finish = [...blocked, ...candidates.map((candidate) => candidate.finishReason)].filter(Boolean).at(-1);
  const contents = chat ? modelHistory(chat) : candidates.map((candidate) => candidate.content);
  const parts = contents.flatMap((content) => content?.parts ?? []);
  const textParts = (isThought) => parts.filter((part) => part.text && Boolean(part.thought) === isThought);
  const calls = parts.filter((part) => part.functionCall).map(({ functionCall: it }) => normal.call(it.id, it.name, it.args ?? {}));
  return normal.summary({
    text: textParts(false).map((part) => part.text).join(""),
    reasoning: textParts(true).map((part) => part.text).join(""),
    calls,
    stop: stopReason(finish, calls),
    usage: tokenUsage(chunks.map((chunk) => chunk.usageMetadata).filter(Boolean).at(-1)),
    id: chunks[0].responseId,
    model: chunks[0].modelVersion,
  });
}

function modelHistory(chat) {
  return chat.getHistory().filter((content) => content.role === "model");
}

function stopReason(finish, calls) {
  if (finish === undefined) return null;
  if (finish === "STOP" && calls.length > 0) return "calls";
  return REFUSALS.includes(finish) ? "refusal" : (STOPS[finish] ?? finish);
}

function tokenUsage(usage) {
  if (!usage) return null;
  return { input: usage.promptTokenCount, output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0) };
}
