/** The names of enum values: ours, and those that agents use. */

import type { How, TaskStatus, Verdict } from "../event.js";
import { type Reason, ofHow, statusFromName } from "../status.js";

/** Combines how a call ended with its reason. */
export function howAndWhy(how: How, reason: Reason | undefined): { how: How; reason?: Reason } {
  if (how === "error" && reason === "timed_out") return { how: "timed_out" };
  if (how === "cancelled" && reason === "skipped") return { how: "skipped" };
  return reason === undefined ? { how } : { how, reason };
}

/** The name for how a call ended. */
export function howName(how: How): string {
  const { status, reason } = ofHow(how);
  return reason ?? status;
}

/** How a call ended, from a final status or a name that `howName` returns. */
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

/** Whether `isError` is set for readers that know only that field. */
export function isError(how: How): boolean {
  return how !== "ok" && how !== "handed_over";
}

/** The verdict for a name. Only unambiguous names allow a call. */
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

/** The task status for a name. */
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
