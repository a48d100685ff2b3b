/** The order of a run's log. Events wait until all earlier places have arrived. */

import type { Event } from "../event.js";

/** The highest place of a log: the largest integer that every JSON reader holds exactly. */
const MAX_PLACE = 2 ** 53;

/** The position of an event relative to the next place. */
export type EventPosition =
  /** It is next. */
  | "next"
  /** It was applied before. */
  | "again"
  /** It has to wait. */
  | "early";

/** The next place, and the events that arrived early. */
export class EventOrder {
  /** When missing places are skipped. */
  deadline: number | undefined;
  #next: number;
  readonly #early = new Map<number, Event>();

  /** Starts after the place of the run's first event. */
  constructor(start: number) {
    this.#next = after(start);
  }

  /** Takes the next place. */
  takePlace(): number {
    const place = this.#next;
    this.#next = after(place);
    return place;
  }

  claimPosition(seq: number, event: Event): EventPosition {
    if (seq < this.#next || seq > MAX_PLACE || this.#early.has(seq)) return "again";
    if (seq === this.#next) {
      this.takePlace();
      return "next";
    }
    this.#early.set(seq, event);
    return "early";
  }

  /** Takes the next event, if it has arrived early. */
  takeNext(): Event | undefined {
    const event = this.#early.get(this.#next);
    if (event === undefined) return undefined;
    this.#early.delete(this.#next);
    this.takePlace();
    return event;
  }

  /** Skips missing places. Returns the first and the last of them. */
  skip(): { from: number; to: number } | undefined {
    if (this.#early.size === 0) return undefined;
    let first = Infinity;
    for (const seq of this.#early.keys()) first = Math.min(first, seq);
    const missing = { from: this.#next, to: first - 1 };
    this.#next = first;
    return missing;
  }

  get next(): number {
    return this.#next;
  }

  get earlyCount(): number {
    return this.#early.size;
  }

  /** Drops early events at the end of the run. Returns how many. */
  close(): number {
    const dropped = this.#early.size;
    this.#early.clear();
    this.deadline = undefined;
    return dropped;
  }
}

/** The place after a place; `Infinity` after the last one. */
function after(place: number): number {
  return place < MAX_PLACE ? place + 1 : Infinity;
}
