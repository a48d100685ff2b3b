/**
 * Details that pages show but the reducer's snapshot does not hold: when a call started and ended,
 * the text of a question, a tool's progress. Statuses come from the reducer only.
 */

import type { Activity, Change, Effect, Json, Problem, Started, ToolRef } from "../run.js";

/** Details of a tool call. */
export interface CallNotes {
  /** When the call was opened, started to run, and was settled, in milliseconds since 1970. */
  opened?: number;
  begun?: number;
  settled?: number;
  progress?: string;
  readonly asks: Map<string, AskNotes>;
}

/** Details of an approval request or question. */
export interface AskNotes {
  readonly prompt?: string | undefined;
  readonly choices?: unknown;
}

/** A change to announce. Each one is reported once, in order. */
export interface Announcement {
  readonly at: number;
  readonly tool?: string;
  readonly change: Change;
}

const MAX_PROBLEMS = 200;
const MAX_CARDS = 200;

/** Details of a run. */
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

  constructor(private readonly announce: (announcement: Announcement) => void = () => undefined) {}

  /** The details of a call. */
  of(call: string, turn: number): CallNotes | undefined {
    return this.#calls.get(`${turn} ${call}`);
  }

  /** Receives every effect of the session, in order. */
  readonly onEffect = (effect: Effect): void => {
    if (effect.type === "emit") {
      this.#now = effect.event.at ?? Date.now();
      this.lastAt = Math.max(this.lastAt ?? 0, this.#now);
    }
    if (effect.type === "show") this.#apply(effect.change);
  };

  #apply(change: Change): void {
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
        this.#announce(change, change.tool);
        break;
      case "toolProgress":
        this.#call(change.tool).progress = progress(change.content);
        break;
      case "toolSettled":
        this.#call(change.tool).settled = this.#now;
        this.#announce(change, change.tool);
        break;
      case "asked": {
        const { id = "", prompt, choices } = change.ask;
        this.#call(change.tool).asks.set(id, { prompt, choices: choices?.value });
        this.#announce(change, change.tool);
        break;
      }
      case "toolsAvailable":
        this.available = change.available.tools;
        break;
      case "activity":
        this.cards.set(change.activity.id ?? `#${this.cards.size}`, change.activity);
        if (this.cards.size > MAX_CARDS) this.cards.delete([...this.cards.keys()][0] ?? "");
        break;
      case "problem":
        if (this.problems.length < MAX_PROBLEMS) this.problems.push(change.problem);
        break;
      case "runEnded":
        this.endedAt = change.at ?? this.#now;
        this.#announce(change);
        break;
      default:
        break;
    }
  }

  #announce(change: Change, tool?: ToolRef): void {
    const name = tool && this.#names.get(key(tool));
    this.announce({ at: this.#now, change, ...(name === undefined ? {} : { tool: name }) });
  }

  #call(tool: ToolRef): CallNotes {
    const known = this.#calls.get(key(tool));
    if (known !== undefined) return known;
    const added: CallNotes = { asks: new Map() };
    this.#calls.set(key(tool), added);
    return added;
  }
}

function key({ call, turn }: ToolRef): string {
  return `${turn} ${call}`;
}

function progress(content: Json): string {
  return content.plain().slice(-4_000);
}
