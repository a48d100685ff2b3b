/** What is known about a tool call, in one word; and how a run ended. */

import type { How } from "./event.js";

/** The status of a call. What is final stays as it is. */
export type Status = (typeof STATUSES)[number];

/** Every status, in the order in which counts are told. */
export const STATUSES = [
  /** Somebody used a word for it that we do not know; it counts as open. */
  "unknown",
  /** Announced: its arguments are coming, or it waits for its turn. */
  "pending",
  /** Somebody has to say yes, or to answer a question. */
  "awaiting_approval",
  /** At work. */
  "running",
  /** It did its work. */
  "succeeded",
  /** It ended in an error. */
  "failed",
  /** Somebody said no; it did not run. */
  "denied",
  /** It never started, and will not. */
  "cancelled",
  /** It was at work when the work ended: it may have had its effect. */
  "interrupted",
  /** A question that went over to a person. */
  "handed_over",
] as const;

/** Whether nothing can change it any more. */
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

/** The status of a word, in our spelling or in one that agents use. */
export function statusFromName(name: string): Status | undefined {
  return STATUS_WORDS.get(name);
}

/** How a call ended, as a status and the reason that goes with it. */
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

/** Why a call came to its final status, where the status alone does not say it. */
export type Reason = (typeof REASONS)[number];

/** Every reason. */
export const REASONS = [
  /** It took too long. */
  "timed_out",
  /** An earlier call ended the turn. */
  "skipped",
  /** The call that it worked for was called off. */
  "parent_closed",
  /** The run ended before it did. */
  "run_ended",
  /** Somebody called off this one call. */
  "called_off",
  /** An answer came, and never the call it belongs to. */
  "never_called",
] as const;

/** The reason of a word. */
export function reasonFromName(name: string): Reason | undefined {
  return REASONS.find((reason) => reason === name);
}

/** How a run ended. There is one for every run, and the first one stands. */
export type Outcome =
  /** It came to its end and said something. */
  | "completed"
  /** Somebody stopped it. */
  | "stopped"
  /** It ended in an error. */
  | "failed"
  /** It came to its end and said nothing. */
  | "no_text"
  /** It had no turn left. */
  | "max_turns"
  /** The model would not. */
  | "refused"
  /** A newer run of the session took its place. */
  | "replaced"
  /** Whoever ran it is gone, and nobody knows more. */
  | "interrupted";

/** The outcome of a word, in our spelling or in one that agents use. */
export function outcomeFromName(name: string): Outcome | undefined {
  return OUTCOME_WORDS.get(name);
}

/** A run in numbers. The counts of the statuses add up to the calls. */
export interface Summary {
  /** Tools that the agent could have called; none if it never said. */
  readonly available?: number;
  /** Calls it made. */
  readonly calls: number;
  /** Calls by status; those that no call has are left out. */
  readonly byStatus: Readonly<Partial<Record<Status, number>>>;
}

function words<T>(table: readonly (readonly [T, ...string[]])[]): ReadonlyMap<string, T> {
  return new Map(table.flatMap(([word, ...names]) => names.map((name) => [name, word] as const)));
}

const STATUS_WORDS: ReadonlyMap<string, Status> = words<Status>([
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

const OUTCOME_WORDS: ReadonlyMap<string, Outcome> = words<Outcome>([
  ["completed", "completed", "complete", "success", "end_turn", "stop", "idle"],
  ["stopped", "stopped", "cancelled", "canceled", "aborted", "aborted_streaming", "aborted_tools"],
  ["failed", "failed", "error", "error_during_execution"],
  ["no_text", "no_text"],
  ["max_turns", "max_turns", "error_max_turns", "max_turn_requests"],
  ["refused", "refused", "refusal"],
  ["replaced", "replaced"],
  ["interrupted", "interrupted"],
]);
