// opencode: a plugin that repairs the messages of every request, after what other plugins cut.

import { fix } from "foxwedge";

const HOOK = "experimental.chat.messages.transform";

/** The plugin. Its options are those of `fix`. The stored messages stay as they are. */
export async function FoxwedgeRepair(_input, options) {
  return {
    async [HOOK](_request, output) {
      const written = output.messages.map(write);
      const { messages, changed } = fix(written, { ...options, format: "ai-sdk-ui" });
      if (!changed) return;
      const originals = new Map(output.messages.map((message, index) => [written[index].id, message]));
      // opencode goes on with the list that it gave.
      output.messages.splice(0, Infinity, ...messages.flatMap((message) => read(message, originals.get(message.id))));
    },
  };
}

/** A message in the words of the AI SDK; each part says which one it was. */
function write({ info, parts }) {
  return { id: info.id, role: info.role, parts: parts.map((part, index) => ({ ...writePart(part), opencode: index })) };
}

function writePart(part) {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "tool") return { type: `data-${part.type}`, data: null };
  const { status, input, output, error } = part.state;
  const call = { type: `tool-${part.tool}`, toolCallId: part.callID, input };
  if (status === "completed") return { ...call, state: "output-available", output };
  if (status === "error") return { ...call, state: "output-error", errorText: error };
  return { ...call, state: "input-available" };
}

/** A repaired message; parts that a repair made are those of calls and texts. */
function read({ parts }, original) {
  if (original === undefined) return [];
  const repaired = parts.map((part) => readPart(part, original.parts[part.opencode])).filter(Boolean);
  return repaired.length > 0 ? [{ ...original, parts: repaired }] : [];
}

function readPart({ toolCallId, state, errorText, text }, original) {
  if (original?.type === "text") return original.text === text ? original : { ...original, text };
  if (original?.type !== "tool") return original;
  const isOpen = original.state.status !== "completed" && original.state.status !== "error";
  if (original.callID === toolCallId && !(isOpen && state === "output-error")) return original;
  const { input, metadata, time } = original.state;
  const start = time?.start ?? 0;
  const closed = { status: "error", input, error: errorText, metadata, time: { start, end: start } };
  return { ...original, callID: toolCallId, state: isOpen && state === "output-error" ? closed : original.state };
}
