/** What has to be done about an event, and what a person gets to see of it. */

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

/** What has to be done, in this order. */
export type Effect =
  /** The event belongs to its run's log, in this place. */
  | { readonly type: "emit"; readonly event: Event }
  /** What a user interface shows changes. */
  | { readonly type: "show"; readonly run: string; readonly change: Change }
  /** Whoever waits for a person gets this. */
  | {
      readonly type: "resolve";
      readonly run: string;
      readonly tool: ToolRef;
      /** The request, as whoever asked named it. */
      readonly id: string;
      readonly resolution: Resolution;
    }
  /** This call should stop working. */
  | { readonly type: "callOff"; readonly run: string; readonly tool: ToolRef }
  /** The run is over. Once for every run. */
  | {
      readonly type: "announce";
      readonly run: string;
      readonly ended: Ended;
      readonly summary: Summary;
    }
  /** Read on what the run's source still says, and throw it away, but not for ever. */
  | { readonly type: "drain"; readonly run: string; readonly until: number }
  /** Something an operator may want to know. */
  | { readonly type: "warn"; readonly warning: Warning };

/** A call, by the id it has in this run and by its turn. */
export interface ToolRef {
  /** Its id; `local-<run>-<n>` if its source gave none. */
  readonly call: string;
  /** Its turn; 0 before the first. */
  readonly turn: number;
}

/** What a person decided, or that nobody will. */
export type Resolution =
  | { readonly type: "replied"; readonly verdict: Verdict; readonly answer?: Json | undefined }
  | { readonly type: "cancelled" };

/**
 * What a user interface shows. Well formed whatever came in: a part is opened once, before
 * anything is said about it, and everything is closed before the end.
 */
export type Change =
  /** The run began. */
  | {
      readonly type: "runStarted";
      readonly epoch: number;
      readonly at?: number | undefined;
      readonly started: Started;
    }
  /** A step began: the model speaks anew. One is open at a time. */
  | { readonly type: "stepStarted"; readonly turn: number }
  /** The step is over. */
  | { readonly type: "stepEnded"; readonly turn: number }
  /** A text or a thought begins. One of the run itself is open at a time. */
  | { readonly type: "textOpened" | "thoughtOpened"; readonly part: Part }
  /** It goes on. */
  | { readonly type: "textDelta" | "thoughtDelta"; readonly part: Part; readonly delta: string }
  /** It is over. */
  | { readonly type: "textClosed" | "thoughtClosed"; readonly part: Part }
  /** A call begins. */
  | {
      readonly type: "toolOpened";
      readonly tool: ToolRef;
      /** Its name; `unknown` if an answer came and never the call. */
      readonly name: string;
      readonly parent?: string | undefined;
      readonly title?: string | undefined;
    }
  /** A piece of its arguments. */
  | { readonly type: "toolArguments"; readonly tool: ToolRef; readonly delta: string }
  /** Its arguments are complete. Once, and before it is settled, unless it was cut off. */
  | { readonly type: "toolReady"; readonly tool: ToolRef; readonly input: Json }
  /** Its status changed, and is not final yet. */
  | { readonly type: "toolStatus"; readonly tool: ToolRef; readonly status: Status }
  /** What it shows while it works. */
  | { readonly type: "toolProgress"; readonly tool: ToolRef; readonly content: Json }
  /** A person is asked. */
  | { readonly type: "asked"; readonly tool: ToolRef; readonly ask: Ask }
  /** The question is settled, by a person or by the end. */
  | {
      readonly type: "askClosed";
      readonly tool: ToolRef;
      readonly id: string;
      readonly verdict: Verdict;
    }
  /** It came to its end. Once for every call that was opened. */
  | {
      readonly type: "toolSettled";
      readonly tool: ToolRef;
      readonly status: Status;
      readonly reason?: Reason | undefined;
      /** What it said, or the words that stand for it. */
      readonly content: Json;
    }
  /**
   * It turned out to have ended otherwise: it was denied, or handed over to a person. Only behind
   * its `toolSettled`, and only from `failed` or `interrupted` to `denied` to `handed_over`.
   */
  | {
      readonly type: "toolCorrected";
      readonly tool: ToolRef;
      readonly status: Status;
      readonly reason?: Reason | undefined;
      /** What it said, or the words that stand for it. */
      readonly content: Json;
    }
  /** The tools that the agent has. */
  | { readonly type: "toolsAvailable"; readonly available: ToolsAvailable }
  /** The tasks, all of them. */
  | { readonly type: "tasks"; readonly tasks: readonly Task[] }
  /** What it cost so far. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** A card. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** Something went wrong, and the run goes on. */
  | { readonly type: "problem"; readonly problem: Problem }
  /** The run is over. The last change of every run. */
  | {
      readonly type: "runEnded";
      readonly ended: Ended;
      readonly summary: Summary;
      readonly at?: number | undefined;
    };

/** A text or a thought: the id it is shown under, and whose it is. */
export interface Part {
  /** Unique in the run. */
  readonly id: string;
  /** The call whose sub-agent says it. */
  readonly parent?: string | undefined;
}

/** Something an operator may want to know. */
export type Warning =
  /** Events whose run never began were dropped; told once for a run. */
  | { readonly code: "never_started"; readonly run: string; readonly events: number }
  /** A run was refused. */
  | { readonly code: "refused"; readonly run: string; readonly refusal: Refusal }
  /** Places in a run's log that nobody sent in time; the run goes on without them. */
  | { readonly code: "missing"; readonly run: string; readonly from: number; readonly to: number }
  /** A word for a status or an outcome, or a kind of event, that we do not know. */
  | { readonly code: "unknown_word"; readonly run: string; readonly word: string }
  /** An answer whose call never came, at the end of the run. */
  | { readonly code: "never_called"; readonly run: string; readonly tool: ToolRef }
  /** More waits than may: the oldest events are dropped. */
  | { readonly code: "too_much_waits"; readonly run: string }
  /** A line that is no event. */
  | { readonly code: "unreadable"; readonly why: Unreadable; readonly line: string };

/** Why a run does not begin: a newer one has begun, or another run has its number. */
export type Refusal = "older_epoch" | "epoch_taken";

/** Why a text is no event. */
export type Unreadable = "not_json" | "not_object" | "no_run" | "no_type";
