/** What happens in a run, in the words of no agent in particular. */

import type { Outcome, Reason, Status } from "./status.js";
import type { Json } from "./value.js";

/** Something that happened in a run. */
export interface Event {
  /** The run it belongs to. */
  readonly run: string;
  /** The run's number in its session: a later run has a higher one. */
  readonly epoch?: number | undefined;
  /**
   * Its place in the run, from 1 on (the start has 1). With it the order in which events arrive
   * means nothing; without it the order of arrival is the truth.
   */
  readonly seq?: number | undefined;
  /** When it happened, in milliseconds since 1970, if its source says so. */
  readonly at?: number | undefined;
  /** A word in it that its reader did not know, for the operator. */
  readonly odd?: string | undefined;
  /** What happened. */
  readonly body: Body;
}

/** What happened. */
export type Body =
  /** The run began: `run-started`. */
  | { readonly type: "started"; readonly started: Started }
  /** Which tools the agent has: `tools-available`. */
  | { readonly type: "toolsAvailable"; readonly available: ToolsAvailable }
  /** A new message of the model, which has its own calls: `turn-started`. */
  | { readonly type: "turn"; readonly turn: Turn }
  /** The model said something: `text`. */
  | { readonly type: "text"; readonly text: Text }
  /** The model thought something: `thought`. */
  | { readonly type: "thought"; readonly text: Text }
  /** The model calls a tool: `tool-call`. Comes once or more, with what is known by then. */
  | { readonly type: "call"; readonly call: Call }
  /** A piece of a call's arguments: `tool-arguments`. */
  | { readonly type: "arguments"; readonly call: CallRef; readonly delta: string }
  /** What a tool shows while it works: `tool-progress`. */
  | { readonly type: "progress"; readonly call: CallRef; readonly content: Json }
  /** What a tool answered: `tool-result`. */
  | { readonly type: "result"; readonly result: ToolResult }
  /** Somebody called off this one call: `tool-cancelled`. */
  | { readonly type: "cancelled"; readonly call: CallRef }
  /** A person has to allow a call or answer a question: `approval-asked`, `question-asked`. */
  | { readonly type: "asked"; readonly ask: Ask }
  /** Somebody did: `approval-answered`, `question-answered`. */
  | { readonly type: "replied"; readonly reply: Reply }
  /** The list of tasks, whole: `tasks`. */
  | { readonly type: "tasks"; readonly tasks: readonly Task[] }
  /** What it cost so far: `usage`. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** Something worth a card beside the conversation: `activity`. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** Something went wrong: `error`. A fatal one ends the run. */
  | { readonly type: "problem"; readonly problem: Problem }
  /** Somebody wants it to stop: `stop`. */
  | { readonly type: "stop"; readonly stop: Stop }
  /** Nothing came for too long: `timed-out`. With a call, only that call. */
  | { readonly type: "timedOut"; readonly call?: CallRef | undefined }
  /** The run came to its end: `run-ended`. */
  | { readonly type: "ended"; readonly ended: Ended }
  /** A kind of event that we do not know. It keeps its place and changes nothing. */
  | { readonly type: "unknown"; readonly kind: string; readonly raw: Json };

/** The start of a run. */
export interface Started {
  /** The session it belongs to, if the source says so. */
  readonly session?: string | undefined;
  /** The run that started it. */
  readonly parent?: string | undefined;
  /** The agent, such as `claude-code`. */
  readonly agent?: string | undefined;
  /** The model. */
  readonly model?: string | undefined;
}

/** The tools of an agent. A list with a lower version than the last one is late. */
export interface ToolsAvailable {
  /** Which list it is. */
  readonly version?: number | undefined;
  /** Whether more are to come. */
  readonly ready: boolean;
  /** Their names. */
  readonly tools: readonly string[];
}

/** A new message of the model. */
export interface Turn {
  /** Its number in the run, from 1 on. */
  readonly turn?: number | undefined;
  /** The message's id. */
  readonly message?: string | undefined;
}

/** Something the model said or thought: a piece, or all of it. */
export interface Text {
  /** The message it belongs to. */
  readonly message?: string | undefined;
  /** The call whose sub-agent says it. Such text is never the run's own. */
  readonly parent?: string | undefined;
  /** A piece that continues what came before. */
  readonly delta?: string | undefined;
  /** All of it, which makes it complete. */
  readonly full?: string | undefined;
}

/**
 * Which call: its id, and its turn where ids are used again. A call without id is told by the
 * order of such calls in its turn.
 */
export interface CallRef {
  /** The id, never empty. */
  readonly id?: string | undefined;
  /** The turn. */
  readonly turn?: number | undefined;
}

/** What is known about a call. */
export interface Call {
  /** Which one. */
  readonly call: CallRef;
  /** The tool. */
  readonly name?: string | undefined;
  /** The call whose sub-agent makes it. */
  readonly parent?: string | undefined;
  /** The arguments, all of them. A call without them is still being written. */
  readonly input?: Json | undefined;
  /** What a person may read about it. */
  readonly title?: string | undefined;
  /** Its status, if the source has one; a final one comes with its result. */
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

/** What a tool answered. */
export interface ToolResult {
  /** Which call. */
  readonly call: CallRef;
  /** The tool, if the source says so. */
  readonly name?: string | undefined;
  /** How it ended. */
  readonly how: How;
  /** Why, if the machine that closed it said so. */
  readonly reason?: Reason | undefined;
  /** What it said. */
  readonly content?: Json | undefined;
}

/** What is asked: may this call run, or a question with an answer. */
export type AskKind = "approval" | "question";

/** Something that a person has to decide. */
export interface Ask {
  /** The call. */
  readonly call: CallRef;
  /** The request's own id; a call asks once under one id. */
  readonly id?: string | undefined;
  /** What is asked. */
  readonly kind: AskKind;
  /** What a person reads. */
  readonly prompt?: string | undefined;
  /** The choices, in the agent's own form. */
  readonly choices?: Json | undefined;
}

/** What somebody decided. `cancelled`: nobody will answer any more. */
export type Verdict = "allowed" | "denied" | "answered" | "cancelled";

/** A decision. */
export interface Reply {
  /** The call. */
  readonly call: CallRef;
  /** The request's own id. */
  readonly id?: string | undefined;
  /** What was decided. */
  readonly verdict: Verdict;
  /** What the person said. It goes to whoever asked, and into no error text. */
  readonly answer?: Json | undefined;
}

/** How far a task is. `paused`: under way when the run ended. */
export type TaskStatus = "unknown" | "pending" | "in_progress" | "completed" | "paused";

/** One line of a task list. */
export interface Task {
  /** Its id, if the agent gives one. */
  readonly id?: string | undefined;
  /** What is to be done. */
  readonly content: string;
  /** How far it is. */
  readonly status: TaskStatus;
  /** What to show while it is under way. */
  readonly active?: string | undefined;
}

/** Tokens, as the provider counts them. */
export interface Usage {
  /** Read. */
  readonly input: number;
  /** Written. */
  readonly output: number;
  /** Of those read, from a cache. */
  readonly cached: number;
  /** Of those written, thought. */
  readonly reasoning: number;
}

/** A repair, a compaction, or anything else worth a card. */
export interface Activity {
  /** What it is, such as `repair` or `compaction`. */
  readonly kind: string;
  /** The card's id; the same id again replaces it. */
  readonly id?: string | undefined;
  /** What it says. */
  readonly content: Json;
}

/** Something that went wrong. */
export interface Problem {
  /** In words. */
  readonly message: string;
  /** In a word. */
  readonly code?: string | undefined;
  /** Whether the run ends by it. */
  readonly fatal: boolean;
}

/** The wish to stop. */
export interface Stop {
  /** How long tools at work may take to finish, in milliseconds. */
  readonly grace: number;
}

/** The end of a run, as it was told or as it was decided. */
export interface Ended {
  /** How; nobody said means: by what was said before. */
  readonly outcome?: Outcome | undefined;
  /** The text of the result. */
  readonly text?: string | undefined;
  /** What went wrong. */
  readonly problem?: Problem | undefined;
  /** What it cost. */
  readonly usage?: Usage | undefined;
}
