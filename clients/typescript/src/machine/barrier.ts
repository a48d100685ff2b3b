/** Holds the events of runs that have not started. */

import type { Effect, Warning } from "../effect.js";
import type { Event } from "../event.js";
import { Queue } from "../queue.js";

/** How many run ids are remembered per list. */
const MAX_REMEMBERED = 256;

/** Events whose run has not started, in order of arrival. */
export class EventBarrier {
  /** Dropped events: too late, refused, or of runs that never started. */
  dropped = 0;
  readonly #events = new Queue<{ deadline: number; event: Event }>();
  /** The number of held events per run. */
  readonly #counts = new Map<string, number>();
  /** Runs that were refused or forgotten. */
  readonly #gone = new Queue<string>();
  /** Runs with a warning already. */
  readonly #warned = new Queue<string>();

  deadline(): number | undefined {
    return this.#events.front()?.deadline;
  }

  get length(): number {
    return this.#events.length;
  }

  hold(deadline: number, event: Event): void {
    this.#events.push({ deadline, event });
    this.#counts.set(event.run, (this.#counts.get(event.run) ?? 0) + 1);
  }

  /** Takes the held events of a run. */
  take(run: string): Event[] {
    if (!this.#counts.delete(run)) return [];
    const events = this.#events.values();
    this.#events.replace(events.filter(({ event }) => event.run !== run));
    return events.map(({ event }) => event).filter((event) => event.run === run);
  }

  /** Drops the oldest event. Warns once per run. */
  dropOldest(effects: Effect[], warning: (run: string, events: number) => Warning): void {
    const oldest = this.#events.shift();
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

  /** Marks a run as refused or forgotten. */
  markGone(run: string): void {
    remember(this.#gone, run);
  }
}

function remember(list: Queue<string>, run: string): void {
  if (list.length === MAX_REMEMBERED) list.shift();
  list.push(run);
}
