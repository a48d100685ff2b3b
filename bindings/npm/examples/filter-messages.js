// After a crash: every reply goes whose call has no result, with all that is in it.
import { fix } from "foxwedge";

export function filterMessages(messages) {
  return fix(messages, { unanswered: "drop-turn", orphans: "drop" }).messages;
}
