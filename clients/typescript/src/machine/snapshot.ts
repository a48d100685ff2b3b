/** The state as JSON: what user interfaces are given, and what every implementation agrees on. */

import type { AskKind, Problem, Task, TaskStatus, Usage, Verdict } from "../event.js";
import type { Outcome, Reason, Status, Summary } from "../status.js";
import type { Asked } from "./asks.js";
import type { Run } from "./run.js";
import type { TextItem, TextKind } from "./texts.js";
import type { Tool } from "./tool.js";

/** What is true, whatever the way on which the events came. */
export interface Truth<R = RunTruth> {
  /** The number of the newest run; 0 before the first. */
  readonly epoch: number;
  /** The newest run. */
  readonly active: string | null;
  /** The runs that have begun and are remembered, in that order. */
  readonly runs: readonly R[];
  /** The tasks of the session. */
  readonly tasks: readonly TaskTruth[];
}

/** Everything, with the counts of what was thrown away. */
export interface Snapshot extends Truth<RunSnapshot> {
  /** Events that wait for the start of their run. */
  readonly waiting: number;
  /** Events that were dropped: too late, refused or never begun. */
  readonly dropped: number;
}

/** A run. */
export interface RunTruth {
  readonly id: string;
  readonly epoch: number;
  readonly phase: "running" | "stopping" | "ended";
  readonly outcome?: Outcome;
  /** The text that stands for the run. */
  readonly text?: string;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly turn: number;
  /** What a user interface blinks for. */
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

/** A run, with what became of its events. */
export interface RunSnapshot extends RunTruth {
  readonly counts: {
    readonly accepted: number;
    readonly repeated: number;
    readonly late: number;
    readonly missing: number;
  };
}

/** A call. */
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

/** A question. */
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
    ...has("outcome", ended.outcome),
    ...has("text", ended.text),
    ...has("error", ended.problem && problem(ended.problem)),
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
  return { ...has("id", id), content, status, ...has("active", active) };
}

function tool(tool: Tool): ToolTruth {
  return {
    call: tool.call,
    turn: tool.turn ?? 0,
    ...has("name", tool.name),
    ...has("parent", tool.parent),
    ...has("title", tool.title),
    called: tool.called,
    status: tool.status(),
    ...has("reason", tool.reason),
    ...has("input", tool.input?.value),
    ...has("content", tool.content?.value),
    ...has("asks", tool.asks.length > 0 ? tool.asks.map(asked) : undefined),
  };
}

function asked({ id, kind, verdict }: Asked): AskTruth {
  return { id, kind, ...has("verdict", verdict) };
}

function text({ id, kind, parent, text, complete }: TextItem): TextTruth {
  return { id, kind, ...has("parent", parent), text, complete };
}

function problem({ message, code }: Problem): { message: string; code?: string } {
  return { message, ...has("code", code) };
}

/** A field that is there, or none. */
function has<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}
