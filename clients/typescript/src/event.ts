/** The events of a run, independent of any particular agent. */

import type { Outcome, Reason, Status } from "./status.js";
import type { Json } from "./value.js";

/** An event of a run. */
export interface Event {
  /** The run it belongs to. */
  readonly run: string;
  /** The run's number in its session: a later run has a higher one. */
  readonly epoch?: number | undefined;
  /**
   * Its place in the run, starting at 1 for the start of the run. Events with a place may arrive in
   * any order; without a place, the order of arrival counts.
   */
  readonly seq?: number | undefined;
  /** When it happened, in milliseconds since 1970, if the source reports it. */
  readonly at?: number | undefined;
  /** An unknown value in the event, for the operator. */
  readonly odd?: string | undefined;
  /** The content of the event. */
  readonly body: Body;
}

/** The content of an event. */
export type Body =
  /** The run started: `run-started`. */
  | { readonly type: "started"; readonly started: Started }
  /** Which tools the agent has: `tools-available`. */
  | { readonly type: "toolsAvailable"; readonly available: ToolsAvailable }
  /** A new message of the model, with its own tool calls: `turn-started`. */
  | { readonly type: "turn"; readonly turn: Turn }
  /** Text of the model: `text`. */
  | { readonly type: "text"; readonly text: Text }
  /** Reasoning of the model: `thought`. */
  | { readonly type: "thought"; readonly text: Text }
  /** A tool call: `tool-call`. Sent one or more times, with what is known so far. */
  | { readonly type: "call"; readonly call: Call }
  /** A delta of a call's arguments: `tool-arguments`. */
  | { readonly type: "arguments"; readonly call: CallRef; readonly delta: string }
  /** Progress of a running tool: `tool-progress`. */
  | { readonly type: "progress"; readonly call: CallRef; readonly content: Json }
  /** A tool result: `tool-result`. */
  | { readonly type: "result"; readonly result: ToolResult }
  /** This one call was canceled: `tool-cancelled`. */
  | { readonly type: "cancelled"; readonly call: CallRef }
  /** A person must approve a call or answer a question: `approval-asked`, `question-asked`. */
  | { readonly type: "asked"; readonly ask: Ask }
  /** The person's reply: `approval-answered`, `question-answered`. */
  | { readonly type: "replied"; readonly reply: Reply }
  /** The complete list of tasks: `tasks`. */
  | { readonly type: "tasks"; readonly tasks: readonly Task[] }
  /** The token usage so far: `usage`. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** Something to show as a card beside the conversation: `activity`. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** An error: `error`. A fatal one ends the run. */
  | { readonly type: "problem"; readonly problem: Problem }
  /** A request to stop the run: `stop`. */
  | { readonly type: "stop"; readonly stop: Stop }
  /** No event arrived for too long: `timed-out`. With a call, only that call timed out. */
  | { readonly type: "timedOut"; readonly call?: CallRef | undefined }
  /** The run ended: `run-ended`. */
  | { readonly type: "ended"; readonly ended: Ended }
  /** An event of an unknown type. It keeps its place and changes nothing. */
  | { readonly type: "unknown"; readonly kind: string; readonly raw: Json };

/** The start of a run. */
export interface Started {
  /** The session it belongs to, if the source reports it. */
  readonly session?: string | undefined;
  /** The run that started it. */
  readonly parent?: string | undefined;
  /** The agent, such as `claude-code`. */
  readonly agent?: string | undefined;
  /** The model. */
  readonly model?: string | undefined;
}

/** The tools of an agent. A list with a lower version than the last one is out of date. */
export interface ToolsAvailable {
  /** The version of the list. */
  readonly version?: number | undefined;
  /** Whether the list is complete. */
  readonly ready: boolean;
  /** The names of the tools. */
  readonly tools: readonly string[];
}

/** A new message of the model. */
export interface Turn {
  /** Its number in the run, starting at 1. */
  readonly turn?: number | undefined;
  /** The message's id. */
  readonly message?: string | undefined;
}

/** Text or reasoning of the model: a delta, or the full text. */
export interface Text {
  /** The message it belongs to. */
  readonly message?: string | undefined;
  /** The call whose sub-agent wrote it. Such text is not part of the run's own text. */
  readonly parent?: string | undefined;
  /** A delta that continues the previous text. */
  readonly delta?: string | undefined;
  /** The full text, which completes it. */
  readonly full?: string | undefined;
}

/**
 * A reference to a call: its id, and its turn if ids are reused. Calls without an id are matched
 * by their order in the turn.
 */
export interface CallRef {
  /** The id, never empty. */
  readonly id?: string | undefined;
  /** The turn. */
  readonly turn?: number | undefined;
}

/** A tool call, as far as it is known. */
export interface Call {
  /** The reference of the call. */
  readonly call: CallRef;
  /** The name of the tool. */
  readonly name?: string | undefined;
  /** The call whose sub-agent made it. */
  readonly parent?: string | undefined;
  /** The complete arguments. Without them the call is still being written. */
  readonly input?: Json | undefined;
  /** A title for people. */
  readonly title?: string | undefined;
  /** Its status, if the source has one. A final status comes with the result. */
  readonly status?: Status | undefined;
}

/** How a call ended. */
export type How =
  | "ok"
  | "error"
  | "denied"
  | "timed_out"
  | "cancelled"
  | "interrupted"
  | "skipped"
  | "handed_over";

/** A tool result. */
export interface ToolResult {
  /** The call it belongs to. */
  readonly call: CallRef;
  /** The name of the tool, if the source reports it. */
  readonly name?: string | undefined;
  /** How the call ended. */
  readonly how: How;
  /** Why the machine closed the call, if it did. */
  readonly reason?: Reason | undefined;
  /** The content of the result. */
  readonly content?: Json | undefined;
}

/** The kind of request: approval of a call, or a question to answer. */
export type AskKind = "approval" | "question";

/** An approval request or a question to a person. */
export interface Ask {
  /** The call. */
  readonly call: CallRef;
  /** The id of the request. A call has one request per id. */
  readonly id?: string | undefined;
  /** The kind of request. */
  readonly kind: AskKind;
  /** The prompt for the person. */
  readonly prompt?: string | undefined;
  /** The choices, in the agent's own format. */
  readonly choices?: Json | undefined;
}

/** A person's decision. `cancelled`: the request was withdrawn without one. */
export type Verdict = "allowed" | "denied" | "answered" | "cancelled";

/** The reply to an approval request or question. */
export interface Reply {
  /** The call. */
  readonly call: CallRef;
  /** The id of the request. */
  readonly id?: string | undefined;
  /** The decision. */
  readonly verdict: Verdict;
  /** The person's answer. It goes to the requester only, never into an error text. */
  readonly answer?: Json | undefined;
}

/** The status of a task. `paused`: it was in progress when the run ended. */
export type TaskStatus = "unknown" | "pending" | "in_progress" | "completed" | "paused";

/** One line of a task list. */
export interface Task {
  /** Its id, if the agent gives one. */
  readonly id?: string | undefined;
  /** The text of the task. */
  readonly content: string;
  /** Its status. */
  readonly status: TaskStatus;
  /** The text to show while it is in progress. */
  readonly active?: string | undefined;
}

/** Token counts, as the provider reports them. */
export interface Usage {
  /** Input tokens. */
  readonly input: number;
  /** Output tokens. */
  readonly output: number;
  /** Input tokens that were read from a cache. */
  readonly cached: number;
  /** Output tokens that were reasoning. */
  readonly reasoning: number;
}

/** A repair, a compaction, or something else to show as a card. */
export interface Activity {
  /** The kind of activity, such as `repair` or `compaction`. */
  readonly kind: string;
  /** The id of the card. A later activity with the same id replaces it. */
  readonly id?: string | undefined;
  /** The content of the card. */
  readonly content: Json;
}

/** An error. */
export interface Problem {
  /** The error message. */
  readonly message: string;
  /** The error code. */
  readonly code?: string | undefined;
  /** Whether it ends the run. */
  readonly fatal: boolean;
}

/** A request to stop the run. */
export interface Stop {
  /** How long running tools may take to finish, in milliseconds. */
  readonly grace: number;
}

/** The end of a run, as reported or as decided by the machine. */
export interface Ended {
  /** The outcome. If it is missing, it follows from the rest of the run. */
  readonly outcome?: Outcome | undefined;
  /** The final text. */
  readonly text?: string | undefined;
  /** The error, if there was one. */
  readonly problem?: Problem | undefined;
  /** The token usage. */
  readonly usage?: Usage | undefined;
}
