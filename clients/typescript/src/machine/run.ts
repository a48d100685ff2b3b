/** One run of a session. */

import type { Change } from "../effect.js";
import type { Body, Ended, Event, Started, ToolsAvailable, Usage } from "../event.js";
import type { Status, Summary } from "../status.js";
import { STATUSES } from "../status.js";
import { applyEvent } from "./change.js";
import { closeBranch, closeChildren, decide, end, endIfSettled } from "./close.js";
import { EventOrder } from "./order.js";
import { CallTable } from "./table.js";
import { RunTexts } from "./texts.js";
import type { ToolCallState } from "./tool.js";
import type { RunContext } from "./world.js";

/** The phase of a run. */
export type Phase =
  /** Running. */
  | { readonly type: "running" }
  /** The outcome is decided, but tools may still finish. */
  | { readonly type: "stopping"; readonly ended: Ended; readonly deadline: number }
  /** Ended. */
  | {
      readonly type: "ended";
      readonly ended: Ended;
      readonly summary: Summary;
      readonly at: number | undefined;
    };

/** Where an event comes from: the process that runs the agent, or a log. */
export type EventOrigin = "source" | "log";

/** A run that has started. */
export class Run {
  phase: Phase = { type: "running" };
  /** Whether we assign the places, or read a log. */
  origin: EventOrigin = "source";
  /** Running calls that a stop waits for. */
  readonly unfinished: ToolCallState[] = [];
  turn = 0;
  message: string | undefined;
  step: number | undefined;
  readonly table = new CallTable();
  readonly texts = new RunTexts();
  available: ToolsAvailable | undefined;
  usage: Usage = { input: 0, output: 0, cached: 0, reasoning: 0 };
  /** Counts of its events. */
  readonly counts = { accepted: 0, repeated: 0, late: 0, missing: 0 };
  #order = new EventOrder(0);
  /** If a newer run has started: the deadline for this one to end by itself. */
  #superseded: number | undefined;

  constructor(
    readonly id: string,
    readonly epoch: number,
    readonly started: Started,
    readonly startedAt: number | undefined,
  ) {}

  /** The counts of its calls. */
  summary(): Summary {
    const counts = new Map<Status, number>();
    // A result without its call is not a call.
    const called = this.table.tools.filter((tool) => tool.called);
    for (const tool of called) {
      const status = tool.status();
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    const byStatus: Partial<Record<Status, number>> = {};
    for (const status of STATUSES) {
      const count = counts.get(status);
      if (count !== undefined) byStatus[status] = count;
    }
    const calls = called.length;
    const available = this.available?.tools.length;
    return available === undefined ? { calls, byStatus } : { available, calls, byStatus };
  }

  /** Whether it has ended. */
  isOver(): boolean {
    return this.phase.type === "ended";
  }

  /** Applies the first event. */
  begin(event: Event, context: RunContext): void {
    if (event.seq !== undefined) this.origin = "log";
    const seq = event.seq ?? 1;
    this.#order = new EventOrder(seq);
    this.counts.accepted += 1;
    this.#warnUnknown(event, context);
    context.effects.push({ type: "emit", event: { ...event, seq, epoch: this.epoch } });
    const { epoch, started, startedAt: at } = this;
    this.showChange({ type: "runStarted", epoch, at, started }, context);
  }

  take(event: Event, context: RunContext): void {
    if (event.seq === undefined) {
      // A live source has taken over the log: missing events will not arrive.
      while (this.#order.earlyCount > 0) this.#skipMissing(context);
      this.#accept(event, "source", context);
      return;
    }
    const { limits, wait } = context.settings;
    switch (this.#order.claimPosition(event.seq, event)) {
      case "again":
        this.counts.repeated += 1;
        break;
      case "next":
        this.#accept(event, "log", context);
        this.#applyEarly(context);
        break;
      case "early":
        if (this.isOver()) this.dropEarly();
        else if (this.#order.earlyCount > limits.waiting) this.#skipMissing(context);
        else this.#order.deadline ??= context.clock.later(wait);
        break;
    }
  }

  /** The next deadline. */
  deadline(): number | undefined {
    if (this.phase.type === "ended") return undefined;
    const over = this.phase.type === "stopping" ? this.phase.deadline : this.#superseded;
    return earliest([this.#order.deadline, over]);
  }

  /** Applies deadlines that have passed. */
  wake(context: RunContext): void {
    const due = (moment: number | undefined) =>
      moment !== undefined && context.clock.hasPassed(moment);
    const superseded = due(this.#superseded);
    if (due(this.#order.deadline)) this.#skipMissing(context);
    const { phase } = this;
    if (phase.type === "stopping" && due(phase.deadline)) {
      end(this, phase.ended, undefined, undefined, this.origin, context);
    } else if (phase.type === "running" && superseded) {
      end(this, { outcome: "replaced" }, undefined, undefined, this.origin, context);
    }
  }

  /** Ends the run as replaced, if it is still open. */
  replace(context: RunContext): void {
    if (this.isOver()) return;
    end(this, { outcome: "replaced" }, undefined, undefined, this.origin, context);
  }

  /** Sets the deadline to end by itself, since a newer run has started. */
  supersede(deadline: number): void {
    if (!this.isOver()) this.#superseded ??= deadline;
  }

  /** Emits an event to the log, before the effects it caused. */
  emit(before: number, event: Event, origin: EventOrigin, context: RunContext): void {
    const seq = origin === "source" ? this.#order.takePlace() : event.seq;
    this.counts.accepted += 1;
    const placed: Event = { ...event, seq, epoch: this.epoch };
    context.effects.splice(before, 0, { type: "emit", event: placed });
  }

  showChange(change: Change, context: RunContext): void {
    context.effects.push({ type: "show", run: this.id, change });
  }

  dropEarly(): void {
    this.counts.late += this.#order.close();
  }

  #skipMissing(context: RunContext): void {
    const missing = this.#order.skip();
    if (missing !== undefined) {
      this.counts.missing += missing.to - missing.from + 1;
      const warning = { code: "missing", run: this.id, ...missing } as const;
      context.effects.push({ type: "warn", warning });
    }
    this.#order.deadline = undefined;
    this.#applyEarly(context);
  }

  #applyEarly(context: RunContext): void {
    for (let next = this.#order.takeNext(); next !== undefined; next = this.#order.takeNext()) {
      this.#accept(next, "log", context);
    }
    if (this.#order.earlyCount === 0) this.#order.deadline = undefined;
    else this.#order.deadline ??= context.clock.later(context.settings.wait);
  }

  #accept(event: Event, origin: EventOrigin, context: RunContext): void {
    if (this.#isTooLate(event, origin)) {
      this.counts.late += 1;
      return;
    }
    this.#warnUnknown(event, context);
    if (event.body.type === "ended") {
      end(this, event.body.ended, event, undefined, origin, context);
      return;
    }
    const before = context.effects.length;
    const impact = applyEvent(this, event, context);
    if (impact === "none" && origin === "source") {
      this.counts.repeated += 1;
      return;
    }
    const handedOver = impact === "handedOver" && origin === "source";
    this.emit(before, handedOver ? asHandedOver(event) : event, origin, context);
    if (typeof impact === "object") {
      if ("closed" in impact) closeChildren(this, impact.closed, event.at, origin, context);
      else closeBranch(this, impact.orphaned, event.at, origin, context);
    }
    const decision = endDecision(event.body);
    if (decision !== undefined) decide(this, decision, event.at, origin, context);
    endIfSettled(this, event.at, context);
  }

  #warnUnknown(event: Event, context: RunContext): void {
    if (event.odd === undefined) return;
    const warning = { code: "unknown_word", run: this.id, word: event.odd } as const;
    context.effects.push({ type: "warn", warning });
  }

  #isTooLate(event: Event, origin: EventOrigin): boolean {
    switch (this.phase.type) {
      case "running":
        return false;
      case "stopping":
        return origin === "source" && !countsWhileStopping(event.body);
      case "ended":
        return true;
    }
  }
}

/** The earliest of the given moments. */
export function earliest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * The event for the log if a question was handed over. The log records the hand-over, so readers
 * need not know which tools ask a person. It does not record the content.
 */
function asHandedOver(event: Event): Event {
  const { body } = event;
  if (body.type !== "result") return event;
  const { call, name, reason } = body.result;
  return { ...event, body: { type: "result", result: { call, name, reason, how: "handed_over" } } };
}

/** The end that an event decides, and how long running tools may take to finish. */
function endDecision(body: Body): { ended: Ended; grace: number } | undefined {
  if (body.type === "problem" && body.problem.fatal) {
    return { ended: { outcome: "failed", problem: body.problem }, grace: 0 };
  }
  if (body.type === "stop") return { ended: { outcome: "stopped" }, grace: body.stop.grace };
  if (body.type === "timedOut" && body.call === undefined) {
    const message = "nothing came for too long";
    const problem = { message, code: "timed_out", fatal: true };
    return { ended: { outcome: "failed", problem }, grace: 0 };
  }
  return undefined;
}

/** While a run stops, tools may finish but nothing may start. */
function countsWhileStopping(body: Body): boolean {
  switch (body.type) {
    case "result":
    case "progress":
    case "cancelled":
    case "replied":
    case "timedOut":
    case "usage":
    case "activity":
    case "problem":
    case "stop":
    case "ended":
      return true;
    case "started":
    case "toolsAvailable":
    case "turn":
    case "text":
    case "thought":
    case "call":
    case "arguments":
    case "asked":
    case "tasks":
    case "unknown":
      return false;
  }
}
