// Part of a conversation goes, the oldest first. A call and its result stay or go together.
import { compact } from "foxwedge";

export function truncateConversation(messages, fraction) {
  const { tokensBefore } = compact(messages, { maxTokens: 2 ** 40 });
  return compact(messages, { maxTokens: Math.ceil(tokensBefore * (1 - fraction)) }).messages;
}
