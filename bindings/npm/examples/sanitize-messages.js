// Before every request: what an interrupted turn left open is closed, and what was done stays.
import { fix } from "foxwedge";

export function sanitizeMessages(messages, log = console.warn) {
  const { messages: sound, edits } = fix(messages, { profile: "deepseek" });
  for (const { code, reason, index } of edits) log(`${code} in message ${index}: ${reason}`);
  return sound;
}
