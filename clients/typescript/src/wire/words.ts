/** The words of enums on the wire: ours, and those that others use. */

import type { How, TaskStatus, Verdict } from "../event.js";
import { type Reason, ofHow, statusFromName } from "../status.js";

/** How a call ended and why, out of what its status and its reason say. */
export function howAndWhy(how: How, reason: Reason | undefined): { how: How; reason?: Reason } {
  if (how === "error" && reason === "timed_out") return { how: "timed_out" };
  if (how === "cancelled" && reason === "skipped") return { how: "skipped" };
  return reason === undefined ? { how } : { how, reason };
}

/** The one word for how a call ended. */
export function howName(how: How): string {
  const { status, reason } = ofHow(how);
  return reason ?? status;
}

/** How a call ended, out of one word: a final status, or what `howName` says. */
export function howFromName(name: string): How | undefined {
  if (name === "timed_out" || name === "timeout") return "timed_out";
  if (name === "skipped") return "skipped";
  const status = statusFromName(name);
  switch (status) {
    case "succeeded":
      return "ok";
    case "failed":
      return "error";
    case "denied":
    case "cancelled":
    case "interrupted":
    case "handed_over":
      return status;
    case "unknown":
    case "pending":
    case "awaiting_approval":
    case "running":
    case undefined:
      return undefined;
  }
}

/** Whether a reader that knows nothing else takes it for an error. */
export function isError(how: How): boolean {
  return how !== "ok" && how !== "handed_over";
}

/** The decision of a word. Only words that cannot mean anything else allow something. */
export function verdictFromName(name: string): Verdict | undefined {
  switch (name) {
    case "allowed":
    case "allow":
    case "approved":
    case "approve":
      return "allowed";
    case "denied":
    case "deny":
    case "rejected":
    case "reject":
      return "denied";
    case "answered":
    case "answer":
      return "answered";
    case "cancelled":
    case "canceled":
    case "cancel":
      return "cancelled";
    default:
      return undefined;
  }
}

/** How far a task is, out of a word. */
export function taskFromName(name: string): TaskStatus | undefined {
  switch (name) {
    case "unknown":
    case "pending":
    case "in_progress":
    case "completed":
    case "paused":
      return name;
    case "todo":
      return "pending";
    case "in-progress":
    case "inProgress":
      return "in_progress";
    case "complete":
    case "done":
      return "completed";
    default:
      return undefined;
  }
}
