/** The effects of an event: what the host has to do, and what a user interface shows. */

import type {
  Activity,
  Ask,
  Ended,
  Event,
  Problem,
  Started,
  Task,
  ToolsAvailable,
  Usage,
  Verdict,
} from "./event.js";
import type { Reason, Status, Summary } from "./status.js";
import type { Json } from "./value.js";

/** An effect. The host carries out effects in order. */
export type Effect =
  /** Append the event to the log of its run. */
  | { readonly type: "emit"; readonly event: Event }
  /** Update the user interface. */
  | { readonly type: "show"; readonly run: string; readonly change: Change }
  /** Resolve an approval request or question. */
  | {
      readonly type: "resolve";
      readonly run: string;
      readonly tool: ToolRef;
      /** The id of the request, as the requester named it. */
      readonly id: string;
      readonly resolution: Resolution;
    }
  /** Stop this running call. */
  | { readonly type: "callOff"; readonly run: string; readonly tool: ToolRef }
  /** Announce the end of the run. Once per run. */
  | {
      readonly type: "announce";
      readonly run: string;
      readonly ended: Ended;
      readonly summary: Summary;
    }
  /** Read and discard the rest of the run's source, until this time. */
  | { readonly type: "drain"; readonly run: string; readonly until: number }
  /** A warning for the operator. */
  | { readonly type: "warn"; readonly warning: Warning };

/** A reference to a call: its id in this run, and its turn. */
export interface ToolRef {
  /** The id; `local-<run>-<n>` if the source has none. */
  readonly call: string;
  /** The turn; 0 before the first one. */
  readonly turn: number;
}

/** A person's decision, or that the request was canceled. */
export type Resolution =
  | { readonly type: "replied"; readonly verdict: Verdict; readonly answer?: Json | undefined }
  | { readonly type: "cancelled" };

/**
 * A change for a user interface. The sequence is well formed for any input: a part is opened once,
 * before any other change to it, and everything is closed before the run ends.
 */
export type Change =
  /** The run started. */
  | {
      readonly type: "runStarted";
      readonly epoch: number;
      readonly at?: number | undefined;
      readonly started: Started;
    }
  /** A step started with a new message of the model. One step is open at a time. */
  | { readonly type: "stepStarted"; readonly turn: number }
  /** The step ended. */
  | { readonly type: "stepEnded"; readonly turn: number }
  /** A text or thought starts. One of the run itself is open at a time. */
  | { readonly type: "textOpened" | "thoughtOpened"; readonly part: Part }
  /** A delta of a text or thought. */
  | { readonly type: "textDelta" | "thoughtDelta"; readonly part: Part; readonly delta: string }
  /** A text or thought is complete. */
  | { readonly type: "textClosed" | "thoughtClosed"; readonly part: Part }
  /** A tool call starts. */
  | {
      readonly type: "toolOpened";
      readonly tool: ToolRef;
      /** The name of the tool; `unknown` if only the result arrived. */
      readonly name: string;
      readonly parent?: string | undefined;
      readonly title?: string | undefined;
    }
  /** A delta of the arguments. */
  | { readonly type: "toolArguments"; readonly tool: ToolRef; readonly delta: string }
  /** The arguments are complete. Once, before the call is settled, unless it was cut off. */
  | { readonly type: "toolReady"; readonly tool: ToolRef; readonly input: Json }
  /** The status changed and is not final yet. */
  | { readonly type: "toolStatus"; readonly tool: ToolRef; readonly status: Status }
  /** Progress of a running tool. */
  | { readonly type: "toolProgress"; readonly tool: ToolRef; readonly content: Json }
  /** A person must approve a call or answer a question. */
  | { readonly type: "asked"; readonly tool: ToolRef; readonly ask: Ask }
  /** The request is closed, by a person or by the end of the call. */
  | {
      readonly type: "askClosed";
      readonly tool: ToolRef;
      readonly id: string;
      readonly verdict: Verdict;
    }
  /** The call ended. Once for every call that was opened. */
  | {
      readonly type: "toolSettled";
      readonly tool: ToolRef;
      readonly status: Status;
      readonly reason?: Reason | undefined;
      /** The tool result, or the placeholder for it. */
      readonly content: Json;
    }
  /**
   * A settled call turned out to be denied, or handed over to a person. Only after its
   * `toolSettled`, and only from `failed` or `interrupted` to `denied` to `handed_over`.
   */
  | {
      readonly type: "toolCorrected";
      readonly tool: ToolRef;
      readonly status: Status;
      readonly reason?: Reason | undefined;
      /** The tool result, or the placeholder for it. */
      readonly content: Json;
    }
  /** The tools of the agent. */
  | { readonly type: "toolsAvailable"; readonly available: ToolsAvailable }
  /** The complete list of tasks. */
  | { readonly type: "tasks"; readonly tasks: readonly Task[] }
  /** The token usage so far. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** A card to show. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** An error that does not end the run. */
  | { readonly type: "problem"; readonly problem: Problem }
  /** The run ended. The last change of every run. */
  | {
      readonly type: "runEnded";
      readonly ended: Ended;
      readonly summary: Summary;
      readonly at?: number | undefined;
    };

/** A shown text or thought: its id, and the call it belongs to. */
export interface Part {
  /** Unique in the run. */
  readonly id: string;
  /** The call whose sub-agent wrote it. */
  readonly parent?: string | undefined;
}

/** A warning for the operator. */
export type Warning =
  /** Events of a run that never started were dropped. Reported once per run. */
  | { readonly code: "never_started"; readonly run: string; readonly events: number }
  /** A run was refused. */
  | { readonly code: "refused"; readonly run: string; readonly refusal: Refusal }
  /** Places in a run's log that did not arrive in time. The run continues without them. */
  | { readonly code: "missing"; readonly run: string; readonly from: number; readonly to: number }
  /** An unknown status, outcome or event type. */
  | { readonly code: "unknown_word"; readonly run: string; readonly word: string }
  /** At the end of the run, a tool result without its call. */
  | { readonly code: "never_called"; readonly run: string; readonly tool: ToolRef }
  /** Too many events wait: the oldest are dropped. */
  | { readonly code: "too_much_waits"; readonly run: string }
  /** A line that is not an event. */
  | { readonly code: "unreadable"; readonly why: Unreadable; readonly line: string };

/** Why a run was refused: a newer run has started, or another run has its number. */
export type Refusal = "older_epoch" | "epoch_taken";

/** Why a text is not an event. */
export type Unreadable = "not_json" | "not_object" | "no_run" | "no_type";
