/** One run: what its events change. */

import type { Change } from "../effect.js";
import type { Body, Ended, Event, Started, ToolsAvailable, Usage } from "../event.js";
import type { Status, Summary } from "../status.js";
import { STATUSES } from "../status.js";
import { change } from "./change.js";
import { closeBranch, closeChildren, decide, end, endIfSettled } from "./close.js";
import { Order } from "./order.js";
import { Table } from "./table.js";
import { Texts } from "./texts.js";
import type { Tool } from "./tool.js";
import type { World } from "./world.js";

/** How far a run is. */
export type Phase =
  /** At work. */
  | { readonly type: "running" }
  /** Its outcome is decided, and tools may still finish. */
  | { readonly type: "stopping"; readonly ended: Ended; readonly deadline: number }
  /** Over. */
  | {
      readonly type: "ended";
      readonly ended: Ended;
      readonly summary: Summary;
      readonly at: number | undefined;
    };

/** Where an event comes from: from whoever runs the agent, or out of a log. */
export type Origin = "source" | "log";

/** A run that has begun. */
export class Run {
  phase: Phase = { type: "running" };
  /** Whether we give out the places, or read a log. */
  origin: Origin = "source";
  /** Calls at work that a stop waits for. */
  readonly unfinished: Tool[] = [];
  turn = 0;
  message: string | undefined;
  step: number | undefined;
  readonly table = new Table();
  readonly texts = new Texts();
  available: ToolsAvailable | undefined;
  usage: Usage = { input: 0, output: 0, cached: 0, reasoning: 0 };
  /** What became of its events. */
  readonly counts = { accepted: 0, repeated: 0, late: 0, missing: 0 };
  #order = new Order(0);
  /** When a newer run began: how long this one has to come to its own end. */
  #superseded: number | undefined;

  constructor(
    readonly id: string,
    readonly epoch: number,
    readonly started: Started,
    readonly startedAt: number | undefined,
  ) {}

  /** Its calls in numbers. */
  summary(): Summary {
    const counts = new Map<Status, number>();
    // An answer whose call never came is no call.
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

  /** The first event. */
  begin(event: Event, world: World): void {
    if (event.seq !== undefined) this.origin = "log";
    const seq = event.seq ?? 1;
    this.#order = new Order(seq);
    this.counts.accepted += 1;
    this.#warnOdd(event, world);
    world.effects.push({ type: "emit", event: { ...event, seq, epoch: this.epoch } });
    const { epoch, started, startedAt: at } = this;
    this.tell({ type: "runStarted", epoch, at, started }, world);
  }

  take(event: Event, world: World): void {
    if (event.seq === undefined) {
      // Whoever writes now has taken the log over: what is missing will not come.
      while (this.#order.early > 0) this.#skip(world);
      this.#accept(event, "source", world);
      return;
    }
    switch (this.#order.turnout(event.seq, event)) {
      case "again":
        this.counts.repeated += 1;
        break;
      case "next":
        this.#accept(event, "log", world);
        this.#follow(world);
        break;
      case "early":
        if (this.isOver()) this.dropEarly();
        else if (this.#order.early > world.settings.limits.waiting) this.#skip(world);
        else this.#order.deadline ??= world.clock.later(world.settings.wait);
        break;
    }
  }

  /** The next moment at which time alone changes something. */
  deadline(): number | undefined {
    if (this.phase.type === "ended") return undefined;
    const over = this.phase.type === "stopping" ? this.phase.deadline : this.#superseded;
    return earliest([this.#order.deadline, over]);
  }

  /** Such a moment has come. */
  wake(world: World): void {
    const due = (moment: number | undefined) =>
      moment !== undefined && world.clock.hasPassed(moment);
    const superseded = due(this.#superseded);
    if (due(this.#order.deadline)) this.#skip(world);
    const { phase } = this;
    if (phase.type === "stopping" && due(phase.deadline)) {
      end(this, phase.ended, undefined, undefined, this.origin, world);
    } else if (phase.type === "running" && superseded) {
      end(this, { outcome: "replaced" }, undefined, undefined, this.origin, world);
    }
  }

  /** There is no room for runs that nobody ends. */
  replace(world: World): void {
    if (this.isOver()) return;
    end(this, { outcome: "replaced" }, undefined, undefined, this.origin, world);
  }

  /** A newer run has begun: this one gets a moment to come to its own end. */
  supersede(deadline: number): void {
    if (!this.isOver()) this.#superseded ??= deadline;
  }

  /** Puts an event into the log, in front of what it changed. */
  emit(before: number, event: Event, origin: Origin, world: World): void {
    const seq = origin === "source" ? this.#order.place() : event.seq;
    this.counts.accepted += 1;
    const placed: Event = { ...event, seq, epoch: this.epoch };
    world.effects.splice(before, 0, { type: "emit", event: placed });
  }

  tell(change: Change, world: World): void {
    world.effects.push({ type: "show", run: this.id, change });
  }

  dropEarly(): void {
    this.counts.late += this.#order.close();
  }

  #skip(world: World): void {
    const missing = this.#order.skip();
    if (missing !== undefined) {
      this.counts.missing += missing.to - missing.from + 1;
      world.effects.push({ type: "warn", warning: { code: "missing", run: this.id, ...missing } });
    }
    this.#order.deadline = undefined;
    this.#follow(world);
  }

  #follow(world: World): void {
    for (let next = this.#order.follow(); next !== undefined; next = this.#order.follow()) {
      this.#accept(next, "log", world);
    }
    if (this.#order.early === 0) this.#order.deadline = undefined;
    else this.#order.deadline ??= world.clock.later(world.settings.wait);
  }

  #accept(event: Event, origin: Origin, world: World): void {
    if (this.#refuses(event, origin)) {
      this.counts.late += 1;
      return;
    }
    this.#warnOdd(event, world);
    if (event.body.type === "ended") {
      end(this, event.body.ended, event, undefined, origin, world);
      return;
    }
    const before = world.effects.length;
    const news = change(this, event, world);
    if (news === "none" && origin === "source") {
      this.counts.repeated += 1;
      return;
    }
    const handedOver = news === "handedOver" && origin === "source";
    this.emit(before, handedOver ? asHandedOver(event) : event, origin, world);
    if (typeof news === "object") {
      if ("closed" in news) closeChildren(this, news.closed, event.at, origin, world);
      else closeBranch(this, news.doomed, event.at, origin, world);
    }
    const decision = decisionOf(event.body);
    if (decision !== undefined) decide(this, decision, event.at, origin, world);
    endIfSettled(this, event.at, world);
  }

  #warnOdd(event: Event, world: World): void {
    if (event.odd === undefined) return;
    const warning = { code: "unknown_word", run: this.id, word: event.odd } as const;
    world.effects.push({ type: "warn", warning });
  }

  #refuses(event: Event, origin: Origin): boolean {
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

/** The first of some moments. */
export function earliest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * The log says that a question was handed over, so that whoever reads it need not know which tools
 * ask a person, and keeps what the host made of the person's answer to itself.
 */
function asHandedOver(event: Event): Event {
  const { body } = event;
  if (body.type !== "result") return event;
  const { call, name, reason } = body.result;
  return { ...event, body: { type: "result", result: { call, name, reason, how: "handed_over" } } };
}

/** Whether an event decides how the run ends, and how long tools may take to finish. */
function decisionOf(body: Body): { ended: Ended; grace: number } | undefined {
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

/** While a run stops, tools may finish and nothing may begin. */
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
