/** The status of tool calls and the outcome of runs. */

import type { How } from "./event.js";

/** The status of a tool call. */
export type Status = (typeof STATUSES)[number];

/** All statuses, in the order in which counts are reported. */
export const STATUSES = [
  /** The source reported an unknown status. Counts as open. */
  "unknown",
  /** Announced: its arguments are still arriving, or it has not started yet. */
  "pending",
  /** A person must approve it or answer a question. */
  "awaiting_approval",
  /** Running. */
  "running",
  /** Ended successfully. */
  "succeeded",
  /** Ended with an error. */
  "failed",
  /** A person denied it; it did not run. */
  "denied",
  /** Never started, and will not run. */
  "cancelled",
  /** Running when the run ended: it may have taken effect. */
  "interrupted",
  /** A question that was handed over to a person. */
  "handed_over",
] as const;

/** Whether the status is final. */
export function isFinal(status: Status): boolean {
  switch (status) {
    case "unknown":
    case "pending":
    case "awaiting_approval":
    case "running":
      return false;
    case "succeeded":
    case "failed":
    case "denied":
    case "cancelled":
    case "interrupted":
    case "handed_over":
      return true;
  }
}

/** The status for a name, in our spelling or one that agents use. */
export function statusFromName(name: string): Status | undefined {
  return STATUS_NAMES.get(name);
}

/** The status and reason for how a call ended. */
export function ofHow(how: How): { status: Status; reason?: Reason } {
  switch (how) {
    case "ok":
      return { status: "succeeded" };
    case "error":
      return { status: "failed" };
    case "timed_out":
      return { status: "failed", reason: "timed_out" };
    case "skipped":
      return { status: "cancelled", reason: "skipped" };
    case "denied":
    case "cancelled":
    case "interrupted":
    case "handed_over":
      return { status: how };
  }
}

/** Why a call has its final status, if the status alone does not tell. */
export type Reason = (typeof REASONS)[number];

/** All reasons. */
export const REASONS = [
  /** The call took too long. */
  "timed_out",
  /** An earlier call ended the turn. */
  "skipped",
  /** Its parent call was canceled. */
  "parent_closed",
  /** The run ended before the call did. */
  "run_ended",
  /** This one call was canceled. */
  "called_off",
  /** A tool result arrived without its call. */
  "never_called",
] as const;

/** The reason for a name. */
export function reasonFromName(name: string): Reason | undefined {
  return REASONS.find((reason) => reason === name);
}

/** How a run ended. Every run has one outcome, and the first one counts. */
export type Outcome =
  /** Ended normally, with text. */
  | "completed"
  /** Stopped on request. */
  | "stopped"
  /** Ended with an error. */
  | "failed"
  /** Ended normally, without text. */
  | "no_text"
  /** Reached the turn limit. */
  | "max_turns"
  /** The model refused. */
  | "refused"
  /** Replaced by a newer run of the session. */
  | "replaced"
  /** The process that ran it is gone; the rest is unknown. */
  | "interrupted";

/** The outcome for a name, in our spelling or one that agents use. */
export function outcomeFromName(name: string): Outcome | undefined {
  return OUTCOME_NAMES.get(name);
}

/** Counts of a run. The counts by status add up to `calls`. */
export interface Summary {
  /** The number of available tools, if the agent reported them. */
  readonly available?: number;
  /** The number of tool calls. */
  readonly calls: number;
  /** Calls by status, without zero counts. */
  readonly byStatus: Readonly<Partial<Record<Status, number>>>;
}

function byName<T>(table: readonly (readonly [T, ...string[]])[]): ReadonlyMap<string, T> {
  return new Map(table.flatMap(([value, ...names]) => names.map((name) => [name, value] as const)));
}

const STATUS_NAMES: ReadonlyMap<string, Status> = byName<Status>([
  ["unknown", "unknown"],
  ["pending", "pending", "scheduled", "queued", "validating", "input-streaming", "input_streaming"],
  [
    "awaiting_approval",
    "awaiting_approval",
    "waiting_approval",
    "approval-requested",
    "requires_action",
  ],
  ["running", "running", "executing", "in_progress", "working", "input-available"],
  ["succeeded", "succeeded", "success", "completed", "complete", "output-available"],
  ["failed", "failed", "error", "errored", "output-error"],
  ["denied", "denied", "rejected", "output-denied"],
  ["cancelled", "cancelled", "canceled"],
  ["interrupted", "interrupted", "aborted"],
  ["handed_over", "handed_over"],
]);

const OUTCOME_NAMES: ReadonlyMap<string, Outcome> = byName<Outcome>([
  ["completed", "completed", "complete", "success", "end_turn", "stop", "idle"],
  ["stopped", "stopped", "cancelled", "canceled", "aborted", "aborted_streaming", "aborted_tools"],
  ["failed", "failed", "error", "error_during_execution"],
  ["no_text", "no_text"],
  ["max_turns", "max_turns", "error_max_turns", "max_turn_requests"],
  ["refused", "refused", "refusal"],
  ["replaced", "replaced"],
  ["interrupted", "interrupted"],
]);
