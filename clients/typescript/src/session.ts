/** What a user interface holds: a machine that reads events and can be watched. */

import type { Effect } from "./effect.js";
import type { Event } from "./event.js";
import { Machine } from "./machine.js";
import { type Answer, type AnswerError, find } from "./machine/answer.js";
import type { Snapshot, Truth } from "./machine/snapshot.js";
import { type SomeSettings, complete } from "./settings.js";
import { share } from "./share.js";
import { first } from "./text.js";
import { type Read, read } from "./wire/read.js";
import { write } from "./wire/write.js";

/** An event as it comes: one JSON object, as a text or already parsed. */
export type Line = string | object;

/** Where an answer goes. */
export type Routed =
  /** To this event: give it to `apply`, or send it to whoever runs the agent. */
  | { readonly type: "deliver"; readonly event: Readonly<Record<string, unknown>> }
  /** Nowhere: the same was answered before. */
  | { readonly type: "repeated" }
  /** Nowhere, for this reason. Nothing was changed. */
  | { readonly type: "refused"; readonly code: AnswerError };

/** What a session is made with. */
export interface SessionOptions extends SomeSettings {
  /** Hears of every effect, in order. */
  readonly onEffect?: (effect: Effect) => void;
}

/** A session without runs. */
export function createSession(options: SessionOptions = {}): Session {
  return new Session(options);
}

/** The runs of a session, as far as they are known. */
export class Session {
  readonly #machine: Machine;
  readonly #onEffect: ((effect: Effect) => void) | undefined;
  readonly #listeners = new Set<() => void>();
  #snapshot: Snapshot | undefined;
  #stale = true;

  constructor(options: SessionOptions = {}) {
    this.#machine = new Machine(complete(options));
    this.#onEffect = options.onEffect;
  }

  /**
   * Takes an event. `now` is a clock in milliseconds that need not be right: one that jumps back
   * stands still. What is no event changes nothing, and is told as a warning.
   */
  apply(line: Line, now: number): Effect[] {
    const told = readLine(line);
    const effects = this.#machine.apply(now, told.event);
    if (told.event === undefined) {
      const text = typeof line === "string" ? line : "";
      const warning = { code: "unreadable", why: told.why, line: first(text, 200) } as const;
      effects.push({ type: "warn", warning });
    }
    return this.#changed(effects, told.event);
  }

  /** Nothing happened, but time went by. */
  tick(now: number): Effect[] {
    return this.#changed(this.#machine.apply(now, undefined), undefined);
  }

  /** When time alone will change something, on the caller's clock: call `tick` then. */
  deadline(): number | undefined {
    return this.#machine.deadline();
  }

  /** Finds the question that an answer is for. Changes nothing. */
  route(answer: Answer): Routed {
    const found = find(answer, (id) => this.#machine.run(id));
    if (found.type !== "deliver") return found;
    return { type: "deliver", event: JSON.parse(write(found.event)) as Record<string, unknown> };
  }

  /**
   * Everything, as plain data. The same object until something changed, and parts that did not
   * change stay the same objects.
   */
  readonly getSnapshot = (): Snapshot => {
    if (this.#stale || this.#snapshot === undefined) {
      this.#snapshot = share(this.#snapshot, this.#machine.snapshot());
      this.#stale = false;
    }
    return this.#snapshot;
  };

  /** Everything, as plain data. */
  snapshot(): Snapshot {
    return this.getSnapshot();
  }

  /** What is true, whatever the way on which the events came. */
  truth(): Truth {
    return this.#machine.truth();
  }

  /** Calls `listener` when something may have changed. Returns how to stop that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  #changed(effects: Effect[], event: Event | undefined): Effect[] {
    if (event === undefined && effects.length === 0) return effects;
    this.#stale = true;
    if (this.#onEffect !== undefined) effects.forEach(this.#onEffect);
    for (const listener of [...this.#listeners]) listener();
    return effects;
  }
}

function readLine(line: Line): Read {
  if (typeof line === "string") return read(line);
  try {
    return read(JSON.stringify(line) ?? "");
  } catch {
    // It holds itself, or a number that JSON does not have.
    return { why: "not_json" };
  }
}
