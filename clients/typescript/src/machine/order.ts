/** The order of a run's log: events with a place wait until all before them are there. */

import type { Event } from "../event.js";

/** The highest place that a log can have: what a JSON number holds everywhere. */
const LAST = 2 ** 53;

/** What is to be done with an event that has a place. */
export type Turnout =
  /** It is the next one. */
  | "next"
  /** It has been told before. */
  | "again"
  /** It waits. */
  | "early";

/** The next place, and what came too early. */
export class Order {
  /** When a missing place is given up. */
  deadline: number | undefined;
  #next: number;
  readonly #early = new Map<number, Event>();

  /** A log whose start has this place. */
  constructor(start: number) {
    this.#next = behind(start);
  }

  /** Gives out the next place. */
  place(): number {
    const place = this.#next;
    this.#next = behind(place);
    return place;
  }

  turnout(seq: number, event: Event): Turnout {
    if (seq < this.#next || seq > LAST || this.#early.has(seq)) return "again";
    if (seq === this.#next) {
      this.place();
      return "next";
    }
    this.#early.set(seq, event);
    return "early";
  }

  /** The next event, if it came before its time. */
  follow(): Event | undefined {
    const event = this.#early.get(this.#next);
    if (event === undefined) return undefined;
    this.#early.delete(this.#next);
    this.place();
    return event;
  }

  /** Goes on without the places that nobody sent: the first and the last of them. */
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

  get early(): number {
    return this.#early.size;
  }

  /** Throws away what came too early: there is nothing behind the end. */
  close(): number {
    const thrown = this.#early.size;
    this.#early.clear();
    this.deadline = undefined;
    return thrown;
  }
}

/** The place behind a place; behind the last there is none. */
function behind(place: number): number {
  return place < LAST ? place + 1 : Infinity;
}
