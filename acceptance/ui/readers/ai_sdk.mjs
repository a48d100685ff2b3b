// The AI SDK, read like `useChat` does: chunks are checked against their schema and build a message.

import { parseJsonEventStream, readUIMessageStream, safeValidateUIMessages, uiMessageChunkSchema } from "ai";
import { assert, bytes, data } from "./stream.mjs";

const ENDS = ["finish", "abort", "error"];

export async function read({ stream, piece }) {
  const sent = data(stream);
  assert(sent.at(-1) === "[DONE]" && sent.filter((it) => it === "[DONE]").length === 1, "it does not end with [DONE]");
  const chunks = [];
  for await (const chunk of parseJsonEventStream({ stream: bytes(stream, piece), schema: uiMessageChunkSchema })) {
    if (!chunk.success) throw chunk.error;
    chunks.push(chunk.value);
  }
  assert(chunks.length === sent.length - 1, `${sent.length - 1} chunks were sent, ${chunks.length} arrived`);
  assert(chunks[0].type === "start", `the first chunk is ${chunks[0].type}`);
  const ends = chunks.filter(({ type }) => ENDS.includes(type));
  assert(ends.length === 1 && chunks.at(-1) === ends[0], `the run has ${ends.length} ends, or one in its middle`);
  const [end] = ends;

  const errors = [];
  const messages = readUIMessageStream({
    stream: new ReadableStream({
      start(controller) {
        chunks.forEach((chunk) => controller.enqueue(chunk));
        controller.close();
      },
    }),
    onError: (error) => errors.push(error),
  });
  let message;
  for await (const state of messages) message = state;
  // Only the error of an `error` chunk is expected.
  const expectedErrors = end.type === "error" ? [end.errorText] : [];
  const errorTexts = errors.map(({ message }) => message).join();
  assert(errorTexts === expectedErrors.join(), String(errors[0] ?? "the error is missing"));
  const valid = await safeValidateUIMessages({ messages: [message] });
  if (!valid.success) throw valid.error;

  const calls = {};
  for (const part of message.parts) {
    assert(part.state !== "streaming", `a ${part.type} is still open`);
    if (part.type !== "dynamic-tool") continue;
    assert(!(part.toolCallId in calls), `the call ${part.toolCallId} is shown twice`);
    const isWaiting = end.finishReason === "tool-calls" && part.state === "input-available";
    assert(isWaiting || !part.state.startsWith("input-"), `the call ${part.toolCallId} is still ${part.state}`);
    const isPending = part.state.startsWith("approval-");
    assert(end.finishReason === "tool-calls" || !isPending, `the call ${part.toolCallId} is waiting`);
    calls[part.toolCallId] = part.state;
  }
  const text = message.parts.filter(({ type }) => type === "text").map(({ text }) => text);
  return { text: text.join(""), calls, end: `${end.type} ${end.finishReason ?? end.reason ?? "-"}` };
}
