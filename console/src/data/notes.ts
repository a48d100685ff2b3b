/**
 * What the reducer's snapshot does not hold and a page shows all the same: when a call was told to
 * have begun and ended, what a question says, what a tool shows while it works. Nothing here says
 * what a status is; that is the reducer's alone.
 */

import type { Activity, Change, Effect, Json, Problem, Started, ToolRef } from "../run.js";

/** Beside a call. */
export interface CallNotes {
  /** When it was announced, said to be at work, and settled; in milliseconds since 1970. */
  opened?: number;
  begun?: number;
  settled?: number;
  progress?: string;
  readonly asks: Map<string, AskNotes>;
}

/** Beside a question. */
export interface AskNotes {
  readonly prompt?: string | undefined;
  readonly choices?: unknown;
}

/** Something that was told once, in order. */
export interface Told {
  readonly at: number;
  readonly tool?: string;
  readonly change: Change;
}

const MOST_PROBLEMS = 200;
const MOST_CARDS = 200;

/** Beside a run. */
export class Notes {
  started: Started | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
  lastAt: number | undefined;
  available: readonly string[] | undefined;
  readonly problems: Problem[] = [];
  readonly cards = new Map<string, Activity>();
  readonly #calls = new Map<string, CallNotes>();
  readonly #names = new Map<string, string>();
  #now = 0;

  constructor(private readonly tell: (told: Told) => void = () => undefined) {}

  /** What is noted about a call. */
  of(call: string, turn: number): CallNotes | undefined {
    return this.#calls.get(`${turn} ${call}`);
  }

  /** Hears of every effect, in order. */
  readonly hear = (effect: Effect): void => {
    if (effect.type === "emit") {
      this.#now = effect.event.at ?? Date.now();
      this.lastAt = Math.max(this.lastAt ?? 0, this.#now);
    }
    if (effect.type === "show") this.#show(effect.change);
  };

  #show(change: Change): void {
    switch (change.type) {
      case "runStarted":
        this.started = change.started;
        this.startedAt = change.at ?? this.#now;
        break;
      case "toolOpened":
        this.#call(change.tool).opened = this.#now;
        this.#names.set(key(change.tool), change.name);
        break;
      case "toolStatus":
        if (change.status === "running") this.#call(change.tool).begun ??= this.#now;
        this.#told(change, change.tool);
        break;
      case "toolProgress":
        this.#call(change.tool).progress = progress(change.content);
        break;
      case "toolSettled":
        this.#call(change.tool).settled = this.#now;
        this.#told(change, change.tool);
        break;
      case "asked": {
        const { id = "", prompt, choices } = change.ask;
        this.#call(change.tool).asks.set(id, { prompt, choices: choices?.value });
        this.#told(change, change.tool);
        break;
      }
      case "toolsAvailable":
        this.available = change.available.tools;
        break;
      case "activity":
        this.cards.set(change.activity.id ?? `#${this.cards.size}`, change.activity);
        if (this.cards.size > MOST_CARDS) this.cards.delete([...this.cards.keys()][0] ?? "");
        break;
      case "problem":
        if (this.problems.length < MOST_PROBLEMS) this.problems.push(change.problem);
        break;
      case "runEnded":
        this.endedAt = change.at ?? this.#now;
        this.#told(change);
        break;
      default:
        break;
    }
  }

  #told(change: Change, tool?: ToolRef): void {
    const name = tool && this.#names.get(key(tool));
    this.tell({ at: this.#now, change, ...(name === undefined ? {} : { tool: name }) });
  }

  #call(tool: ToolRef): CallNotes {
    const known = this.#calls.get(key(tool));
    if (known !== undefined) return known;
    const fresh: CallNotes = { asks: new Map() };
    this.#calls.set(key(tool), fresh);
    return fresh;
  }
}

function key({ call, turn }: ToolRef): string {
  return `${turn} ${call}`;
}

function progress(content: Json): string {
  return content.plain().slice(-4_000);
}
