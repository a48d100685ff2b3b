/** The state as plain data, for user interfaces. All implementations agree on it. */

import type { AskKind, Problem, Task, TaskStatus, Usage, Verdict } from "../event.js";
import type { Outcome, Reason, Status, Summary } from "../status.js";
import type { ApprovalState } from "./asks.js";
import type { Run } from "./run.js";
import type { TextItem, TextKind } from "./texts.js";
import type { ToolCallState } from "./tool.js";

/** The state that does not depend on the order of arrival. */
export interface Truth<R = RunTruth> {
  /** The number of the newest run; 0 before the first. */
  readonly epoch: number;
  /** The newest run. */
  readonly active: string | null;
  /** The runs that have started and are remembered, in that order. */
  readonly runs: readonly R[];
  /** The tasks of the session. */
  readonly tasks: readonly TaskTruth[];
}

/** The whole state, with the counts of waiting and dropped events. */
export interface Snapshot extends Truth<RunSnapshot> {
  /** Events that wait for their run to start. */
  readonly waiting: number;
  /** Dropped events: too late, refused, or of runs that never started. */
  readonly dropped: number;
}

/** A run. */
export interface RunTruth {
  readonly id: string;
  readonly epoch: number;
  readonly phase: "running" | "stopping" | "ended";
  readonly outcome?: Outcome;
  /** The final text of the run. */
  readonly text?: string;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly turn: number;
  /** Activity indicators for a user interface. */
  readonly flags: {
    readonly generating: boolean;
    readonly thinking: boolean;
    readonly streaming: boolean;
  };
  readonly tools: readonly ToolTruth[];
  readonly texts: readonly TextTruth[];
  readonly usage: Usage;
  readonly summary: Summary;
}

/** A run with the counts of its events. */
export interface RunSnapshot extends RunTruth {
  readonly counts: {
    readonly accepted: number;
    readonly repeated: number;
    readonly late: number;
    readonly missing: number;
  };
}

/** A tool call. */
export interface ToolTruth {
  readonly call: string;
  readonly turn: number;
  readonly name?: string;
  readonly parent?: string;
  readonly title?: string;
  readonly called: boolean;
  readonly status: Status;
  readonly reason?: Reason;
  readonly input?: unknown;
  readonly content?: unknown;
  readonly asks?: readonly AskTruth[];
}

/** An approval request or question. */
export interface AskTruth {
  readonly id: string;
  readonly kind: AskKind;
  readonly verdict?: Verdict;
}

/** A text or a thought. */
export interface TextTruth {
  readonly id: string;
  readonly kind: TextKind;
  readonly parent?: string;
  readonly text: string;
  readonly complete: boolean;
}

/** A task. */
export interface TaskTruth {
  readonly id?: string;
  readonly content: string;
  readonly status: TaskStatus;
  readonly active?: string;
}

export function runTruth(run: Run): RunTruth {
  const { phase } = run;
  const ended = phase.type === "running" ? {} : phase.ended;
  const live = run.isOver() ? undefined : run.texts.live();
  return {
    id: run.id,
    epoch: run.epoch,
    phase: phase.type,
    ...optional("outcome", ended.outcome),
    ...optional("text", ended.text),
    ...optional("error", ended.problem && problem(ended.problem)),
    turn: run.turn,
    flags: {
      generating: !run.isOver(),
      thinking: live === "thought",
      streaming: live === "text",
    },
    tools: run.table.tools.map(tool),
    texts: run.texts.items.map(text),
    usage: run.usage,
    summary: run.summary(),
  };
}

export function runSnapshot(run: Run): RunSnapshot {
  return { ...runTruth(run), counts: { ...run.counts } };
}

export function task({ id, content, status, active }: Task): TaskTruth {
  return { ...optional("id", id), content, status, ...optional("active", active) };
}

function tool(tool: ToolCallState): ToolTruth {
  return {
    call: tool.call,
    turn: tool.turn ?? 0,
    ...optional("name", tool.name),
    ...optional("parent", tool.parent),
    ...optional("title", tool.title),
    called: tool.called,
    status: tool.status(),
    ...optional("reason", tool.reason),
    ...optional("input", tool.input?.value),
    ...optional("content", tool.content?.value),
    ...optional("asks", tool.asks.length > 0 ? tool.asks.map(request) : undefined),
  };
}

function request({ id, kind, verdict }: ApprovalState): AskTruth {
  return { id, kind, ...optional("verdict", verdict) };
}

function text({ id, kind, parent, text, complete }: TextItem): TextTruth {
  return { id, kind, ...optional("parent", parent), text, complete };
}

function problem({ message, code }: Problem): { message: string; code?: string } {
  return { message, ...optional("code", code) };
}

/** An object with the field, or an empty one if the value is undefined. */
function optional<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}
