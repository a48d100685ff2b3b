/** A session for user interfaces: reads events, holds the state, and notifies listeners. */

import type { Effect } from "./effect.js";
import type { Event } from "./event.js";
import { SessionMachine } from "./machine.js";
import { type Answer, type AnswerError, routeAnswer } from "./machine/answer.js";
import type { Snapshot, Truth } from "./machine/snapshot.js";
import { type SomeSettings, complete } from "./settings.js";
import { share } from "./share.js";
import { first } from "./text.js";
import { type Read, read } from "./wire/read.js";
import { write } from "./wire/write.js";

/** An event as received: one JSON object, as text or already parsed. */
export type Line = string | object;

/** The route of an answer. */
export type Routed =
  /** Deliver this event: pass it to `apply`, or send it to the process that runs the agent. */
  | { readonly type: "deliver"; readonly event: Readonly<Record<string, unknown>> }
  /** The same answer was given before. */
  | { readonly type: "repeated" }
  /** The answer is refused. Nothing is changed. */
  | { readonly type: "refused"; readonly code: AnswerError };

/** Options of a session. */
export interface SessionOptions extends SomeSettings {
  /** Called with every effect, in order. */
  readonly onEffect?: (effect: Effect) => void;
}

/** Creates a session without runs. */
export function createSession(options: SessionOptions = {}): Session {
  return new Session(options);
}

/** The state of a session's runs. */
export class Session {
  readonly #machine: SessionMachine;
  readonly #onEffect: ((effect: Effect) => void) | undefined;
  readonly #listeners = new Set<() => void>();
  #snapshot: Snapshot | undefined;
  #stale = true;

  constructor(options: SessionOptions = {}) {
    this.#machine = new SessionMachine(complete(options));
    this.#onEffect = options.onEffect;
  }

  /**
   * Applies an event. `now` is a clock in milliseconds. It need not be correct; jumps back are
   * ignored. A line that is not an event changes nothing and gives a warning.
   */
  apply(line: Line, now: number): Effect[] {
    const parsed = readLine(line);
    const effects = this.#machine.apply(now, parsed.event);
    if (parsed.event === undefined) {
      const text = typeof line === "string" ? line : "";
      const warning = { code: "unreadable", why: parsed.why, line: first(text, 200) } as const;
      effects.push({ type: "warn", warning });
    }
    return this.#changed(effects, parsed.event);
  }

  /** Applies only the time. */
  tick(now: number): Effect[] {
    return this.#changed(this.#machine.apply(now, undefined), undefined);
  }

  /** When to call `tick` next, on the caller's clock; undefined if there is no deadline. */
  deadline(): number | undefined {
    return this.#machine.deadline();
  }

  /** Finds the request that an answer belongs to. Changes nothing. */
  route(answer: Answer): Routed {
    const routed = routeAnswer(answer, (id) => this.#machine.run(id));
    if (routed.type !== "deliver") return routed;
    return { type: "deliver", event: JSON.parse(write(routed.event)) as Record<string, unknown> };
  }

  /**
   * The whole state, as plain data. Returns the same object until something changes, and unchanged
   * parts stay the same objects.
   */
  readonly getSnapshot = (): Snapshot => {
    if (this.#stale || this.#snapshot === undefined) {
      this.#snapshot = share(this.#snapshot, this.#machine.snapshot());
      this.#stale = false;
    }
    return this.#snapshot;
  };

  /** The whole state, as plain data. */
  snapshot(): Snapshot {
    return this.getSnapshot();
  }

  /** The state that does not depend on the order of arrival. */
  truth(): Truth {
    return this.#machine.truth();
  }

  /** Calls `listener` when something may have changed. Returns a function to unsubscribe. */
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
    // The object is circular, or has a value without JSON, such as a bigint.
    return { why: "not_json" };
  }
}
