import type { CheckOptions } from "foxwedge";

/** A part of a message of opencode. */
interface Part {
  type: string;
}

/** The plugin: it repairs the messages of every request. Its options are those of `fix`. */
export function FoxwedgeRepair(
  input?: unknown,
  options?: CheckOptions,
): Promise<{
  "experimental.chat.messages.transform": (
    input: {},
    output: { messages: { info: { id: string; role: string }; parts: Part[] }[] },
  ) => Promise<void>;
}>;
