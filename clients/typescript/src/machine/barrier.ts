/** The barrier: no event of a run counts before its start, and no run begins behind a newer one. */

import type { Effect, Warning } from "../effect.js";
import type { Event } from "../event.js";
import { Queue } from "../queue.js";

/** Ids that are kept of runs nobody will hear of again. */
const REMEMBERED = 256;

/** Events whose run has not begun, in the order in which they came. */
export class Waiting {
  /** Events that were dropped: too late, refused or never begun. */
  dropped = 0;
  readonly #held = new Queue<{ deadline: number; event: Event }>();
  /** How many of them each run has. */
  readonly #counts = new Map<string, number>();
  /** Runs that were refused or forgotten. */
  readonly #gone = new Queue<string>();
  /** Runs that somebody was warned about. */
  readonly #warned = new Queue<string>();

  deadline(): number | undefined {
    return this.#held.front()?.deadline;
  }

  get length(): number {
    return this.#held.length;
  }

  hold(deadline: number, event: Event): void {
    this.#held.push({ deadline, event });
    this.#counts.set(event.run, (this.#counts.get(event.run) ?? 0) + 1);
  }

  /** Gives out what waited for a run. */
  take(run: string): Event[] {
    if (!this.#counts.delete(run)) return [];
    const held = this.#held.values();
    this.#held.replace(held.filter(({ event }) => event.run !== run));
    return held.map(({ event }) => event).filter((event) => event.run === run);
  }

  /** Drops the oldest event. Whoever runs the machine hears of a run's events once. */
  dropOldest(effects: Effect[], warning: (run: string, events: number) => Warning): void {
    const oldest = this.#held.shift();
    if (oldest === undefined) return;
    this.dropped += 1;
    const { run } = oldest.event;
    const count = this.#counts.get(run) ?? 1;
    if (count > 1) this.#counts.set(run, count - 1);
    else this.#counts.delete(run);
    if (this.#warned.includes(run)) return;
    effects.push({ type: "warn", warning: warning(run, count) });
    remember(this.#warned, run);
  }

  isGone(run: string): boolean {
    return this.#gone.includes(run);
  }

  /** Nobody will hear of this run again. */
  bury(run: string): void {
    remember(this.#gone, run);
  }
}

function remember(list: Queue<string>, run: string): void {
  if (list.length === REMEMBERED) list.shift();
  list.push(run);
}
