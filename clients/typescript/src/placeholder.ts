/** Placeholder texts for missing tool results. They claim no more than is known. */

import type { Reason, Status } from "./status.js";

/** The placeholder for a call with this status; undefined if it needs none. */
export function placeholderText(
  status: Status,
  reason: Reason | undefined,
  name: string | undefined,
): string | undefined {
  if (status === "handed_over") return "The question was handed over to the user.";
  if (reason === "timed_out") {
    return "[foxwedge] Timed out: the call may still have had an effect; check before repeating it.";
  }
  if (reason === "skipped") return "[foxwedge] Skipped: an earlier call ended the turn.";
  switch (status) {
    case "cancelled":
      return "[foxwedge] Not started: this call never ran.";
    case "denied":
      return "[foxwedge] Denied by the user: this call did not run.";
    case "interrupted":
      return onlyReads(name)
        ? "[foxwedge] Interrupted: no answer was recorded. The call only reads; it can be repeated."
        : "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before repeating it.";
    case "unknown":
    case "pending":
    case "awaiting_approval":
    case "running":
    case "succeeded":
    case "failed":
      return undefined;
  }
}

/** Whether a tool only reads. Only full names count: a verb proves nothing (`get_or_create`). */
function onlyReads(name: string | undefined): boolean {
  const characters = Array.from((name ?? "").slice(0, 64)).slice(0, 32);
  const plain = characters.filter((character) => character !== "_" && character !== "-").join("");
  return READ_ONLY_TOOLS.has(plain.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

const READ_ONLY_TOOLS: ReadonlySet<string> = new Set([
  "cat",
  "codebasesearch",
  "fetch",
  "find",
  "getweather",
  "glob",
  "grep",
  "greptool",
  "list",
  "listdir",
  "listdirectory",
  "listfiles",
  "ls",
  "read",
  "readfile",
  "readmanyfiles",
  "ripgrep",
  "search",
  "searchfilecontent",
  "searchfiles",
  "view",
  "viewfile",
  "webfetch",
  "websearch",
]);
