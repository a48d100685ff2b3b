/**
 * The machine of a session: which run is its newest, what belongs to it, and when it is over.
 *
 * Two kinds of events come in. Events without a place come from whoever runs the agent; the order
 * in which they arrive is the truth, and the machine gives each its place. Events with a place
 * come out of a log; they may arrive in any order, and the state is that of the log.
 *
 * What must never happen here: a second end of a run, a call that is open behind the end, an event
 * of one run that changes another.
 */

import type { Effect, Refusal } from "./effect.js";
import type { Event } from "./event.js";
import { Waiting } from "./machine/barrier.js";
import { Clock } from "./machine/clock.js";
import { Run, earliest } from "./machine/run.js";
import { type Snapshot, type Truth, runSnapshot, runTruth, task } from "./machine/snapshot.js";
import { Tasks } from "./machine/tasks.js";
import type { World } from "./machine/world.js";
import type { Settings } from "./settings.js";

/** Everything that is known about a session's runs. */
export class Machine {
  readonly #settings: Settings;
  readonly #clock = new Clock();
  /** The number of the newest run; 0 before the first. */
  #epoch = 0;
  /** The newest run. */
  #active: string | undefined;
  /** Runs that have begun, in that order. */
  readonly #runs: Run[] = [];
  readonly #waiting = new Waiting();
  readonly #tasks = new Tasks();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** One step: an event, or nothing but the time. */
  apply(now: number, event: Event | undefined): Effect[] {
    const effects: Effect[] = [];
    this.#clock.advance(now);
    this.#expire(effects);
    if (event !== undefined) this.#take(event, effects);
    return effects;
  }

  /** When time alone will change something, on the caller's clock. */
  deadline(): number | undefined {
    const runs = this.#runs.map((run) => run.deadline());
    const first = earliest([...runs, this.#waiting.deadline()]);
    return first === undefined ? undefined : this.#clock.tell(first);
  }

  /** A run that has begun and is remembered. */
  run(id: string): Run | undefined {
    // The newest is nearly always the one.
    for (let at = this.#runs.length - 1; at >= 0; at -= 1) {
      const run = this.#runs[at];
      if (run?.id === id) return run;
    }
    return undefined;
  }

  /** Everything, with the counts of what was thrown away. */
  snapshot(): Snapshot {
    const runs = this.#runs.map(runSnapshot);
    const { length: waiting, dropped } = this.#waiting;
    return { ...this.#truth(runs), waiting, dropped };
  }

  /** What is true, whatever the way on which the events came. */
  truth(): Truth {
    return this.#truth(this.#runs.map(runTruth));
  }

  #truth<R>(runs: R[]): Truth<R> {
    const tasks = this.#tasks.list.map(task);
    return { epoch: this.#epoch, active: this.#active ?? null, runs, tasks };
  }

  #take(event: Event, effects: Effect[]): void {
    const run = this.run(event.run);
    if (run !== undefined) run.take(event, this.#world(effects));
    else if (event.body.type === "started") this.#start(event, effects);
    else this.#hold(event, effects);
  }

  /** Begins a run, unless a newer one has begun, and gives it what waited for it. */
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
    const world = this.#world(effects);
    const waited = this.#waiting.take(event.run);
    run.begin(event, world);
    for (const early of waited) run.take(early, world);
    this.#runs.push(run);
    this.#forget(world);
  }

  #refusal(run: string, epoch: number): Refusal | undefined {
    if (this.#waiting.isGone(run) || epoch < this.#epoch) return "older_epoch";
    return epoch === this.#epoch ? "epoch_taken" : undefined;
  }

  #refuse(run: string, refusal: Refusal, effects: Effect[]): void {
    this.#waiting.dropped += 1 + this.#waiting.take(run).length;
    if (this.#waiting.isGone(run)) return;
    effects.push({ type: "warn", warning: { code: "refused", run, refusal } });
    this.#waiting.bury(run);
  }

  /** Lets an event wait for the start of its run. */
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

  /** What time alone changes. */
  #expire(effects: Effect[]): void {
    const isDue = (moment: number | undefined) =>
      moment !== undefined && this.#clock.hasPassed(moment);
    while (isDue(this.#waiting.deadline())) {
      this.#waiting.dropOldest(effects, (run, events) => ({ code: "never_started", run, events }));
    }
    for (const run of this.#runs) {
      if (isDue(run.deadline())) run.wake(this.#world(effects));
    }
  }

  /** Old runs need not be kept, least of all those that are over. */
  #forget(world: World): void {
    while (this.#runs.length > Math.max(1, this.#settings.limits.runs)) {
      const newest = this.#runs.length - 1;
      const over = this.#runs.findIndex((run, at) => at < newest && run.isOver());
      const [run] = this.#runs.splice(Math.max(0, over), 1);
      if (run === undefined) return;
      run.replace(world);
      this.#waiting.bury(run.id);
    }
  }

  #world(effects: Effect[]): World {
    return { settings: this.#settings, clock: this.#clock, tasks: this.#tasks, effects };
  }
}
