/**
 * The state machine of a session: which run is the newest, its events, and its end.
 *
 * Events without a place come from the process that runs the agent. They count in order of
 * arrival, and the machine assigns their places. Events with a place come from a log. They may
 * arrive in any order, and the state is that of the log.
 *
 * Invariants: a run ends once, no call is open after the end, and an event changes only its own
 * run.
 */

import type { Effect, Refusal } from "./effect.js";
import type { Event } from "./event.js";
import { EventBarrier } from "./machine/barrier.js";
import { MachineClock } from "./machine/clock.js";
import { Run, earliest } from "./machine/run.js";
import { type Snapshot, type Truth, runSnapshot, runTruth, task } from "./machine/snapshot.js";
import { SessionTasks } from "./machine/tasks.js";
import type { RunContext } from "./machine/world.js";
import type { Settings } from "./settings.js";

/** The state of a session's runs. */
export class SessionMachine {
  readonly #settings: Settings;
  readonly #clock = new MachineClock();
  /** The number of the newest run; 0 before the first. */
  #epoch = 0;
  /** The newest run. */
  #active: string | undefined;
  /** Runs that have started, in that order. */
  readonly #runs: Run[] = [];
  readonly #waiting = new EventBarrier();
  readonly #tasks = new SessionTasks();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Applies an event, or only the time. */
  apply(now: number, event: Event | undefined): Effect[] {
    const effects: Effect[] = [];
    this.#clock.advance(now);
    this.#expire(effects);
    if (event !== undefined) this.#take(event, effects);
    return effects;
  }

  /** The next time at which time alone changes something, on the caller's clock. */
  deadline(): number | undefined {
    const runs = this.#runs.map((run) => run.deadline());
    const first = earliest([...runs, this.#waiting.deadline()]);
    return first === undefined ? undefined : this.#clock.toCallerTime(first);
  }

  /** A run that has started and is remembered. */
  run(id: string): Run | undefined {
    // It is nearly always the newest one.
    for (let at = this.#runs.length - 1; at >= 0; at -= 1) {
      const run = this.#runs[at];
      if (run?.id === id) return run;
    }
    return undefined;
  }

  /** The whole state, with the counts of waiting and dropped events. */
  snapshot(): Snapshot {
    const runs = this.#runs.map(runSnapshot);
    const { length: waiting, dropped } = this.#waiting;
    return { ...this.#truth(runs), waiting, dropped };
  }

  /** The state that does not depend on the order of arrival. */
  truth(): Truth {
    return this.#truth(this.#runs.map(runTruth));
  }

  #truth<R>(runs: R[]): Truth<R> {
    const tasks = this.#tasks.list.map(task);
    return { epoch: this.#epoch, active: this.#active ?? null, runs, tasks };
  }

  #take(event: Event, effects: Effect[]): void {
    const run = this.run(event.run);
    if (run !== undefined) run.take(event, this.#context(effects));
    else if (event.body.type === "started") this.#start(event, effects);
    else this.#hold(event, effects);
  }

  /** Starts a run, unless a newer one has started, and applies its waiting events. */
  #start(event: Event, effects: Effect[]): void {
    const epoch = event.epoch ?? this.#epoch + 1;
    const refusal = this.#refusal(event.run, epoch);
    if (refusal !== undefined) {
      this.#refuse(event.run, refusal, effects);
      return;
    }
    if (event.body.type !== "started") return;
    this.#epoch = epoch;
    this.#active = event.run;
    for (const older of this.#runs) older.supersede(this.#clock.later(this.#settings.wait));
    const run = new Run(event.run, epoch, event.body.started, event.at);
    const context = this.#context(effects);
    const waited = this.#waiting.take(event.run);
    run.begin(event, context);
    for (const early of waited) run.take(early, context);
    this.#runs.push(run);
    this.#forget(context);
  }

  #refusal(run: string, epoch: number): Refusal | undefined {
    if (this.#waiting.isGone(run) || epoch < this.#epoch) return "older_epoch";
    return epoch === this.#epoch ? "epoch_taken" : undefined;
  }

  #refuse(run: string, refusal: Refusal, effects: Effect[]): void {
    this.#waiting.dropped += 1 + this.#waiting.take(run).length;
    if (this.#waiting.isGone(run)) return;
    effects.push({ type: "warn", warning: { code: "refused", run, refusal } });
    this.#waiting.markGone(run);
  }

  /** Holds an event until its run starts. */
  #hold(event: Event, effects: Effect[]): void {
    const stale = event.epoch !== undefined && event.epoch <= this.#epoch;
    if (stale || this.#waiting.isGone(event.run)) {
      this.#waiting.dropped += 1;
      return;
    }
    if (this.#waiting.length >= this.#settings.limits.waiting) {
      this.#waiting.dropOldest(effects, (run) => ({ code: "too_much_waits", run }));
    }
    this.#waiting.hold(this.#clock.later(this.#settings.wait), event);
  }

  /** Applies everything whose deadline has passed. */
  #expire(effects: Effect[]): void {
    const isDue = (moment: number | undefined) =>
      moment !== undefined && this.#clock.hasPassed(moment);
    while (isDue(this.#waiting.deadline())) {
      this.#waiting.dropOldest(effects, (run, events) => ({ code: "never_started", run, events }));
    }
    for (const run of this.#runs) {
      if (isDue(run.deadline())) run.wake(this.#context(effects));
    }
  }

  /** Drops runs above the limit, ended ones first. */
  #forget(context: RunContext): void {
    while (this.#runs.length > Math.max(1, this.#settings.limits.runs)) {
      const newest = this.#runs.length - 1;
      const over = this.#runs.findIndex((run, at) => at < newest && run.isOver());
      const [run] = this.#runs.splice(Math.max(0, over), 1);
      if (run === undefined) return;
      run.replace(context);
      this.#waiting.markGone(run.id);
    }
  }

  #context(effects: Effect[]): RunContext {
    return { settings: this.#settings, clock: this.#clock, tasks: this.#tasks, effects };
  }
}
