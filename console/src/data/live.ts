/** A run as it happens: the reducer of the package, fed by a stream that says when it is broken. */

import { signal } from "@preact/signals";

import {
  type RunSnapshot,
  type Session,
  type TaskTruth,
  createSession,
  follow,
  keepTime,
} from "../run.js";
import { isDown, isUp, path } from "./ask.js";
import { Notes, type Told } from "./notes.js";
import { headers, isLocked } from "./token.js";

/** Whether what is shown is what is true now. */
export type Line =
  | { readonly type: "connecting" }
  | { readonly type: "connected" }
  | { readonly type: "lost"; readonly since: number; readonly again: number; readonly why: string }
  | { readonly type: "refused"; readonly status: number }
  | { readonly type: "over" };

/** What a page shows of a run. */
export interface Shown {
  readonly run: RunSnapshot | undefined;
  readonly tasks: readonly TaskTruth[];
  /** Changes with every look. */
  readonly look: number;
}

/** How often the page is drawn anew at most, in milliseconds. */
const PACE = 60;
/** So many lines of the log are kept for the inspector, the newest. */
const MOST_LINES = 200_000;

export class LiveRun {
  readonly line = signal<Line>({ type: "connecting" });
  readonly shown = signal<Shown>({ run: undefined, tasks: [], look: 0 });
  readonly notes: Notes;
  /** The events as they came. */
  readonly lines: string[] = [];
  /** Lines that were left out at the front. */
  left = 0;
  readonly #session: Session;
  readonly #abort = new AbortController();
  readonly #ends: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #cost = 0;

  constructor(
    readonly id: string,
    tell: (told: Told) => void = () => undefined,
  ) {
    this.notes = new Notes(tell);
    // A log may begin anywhere in a long run, so that a lot may wait.
    this.#session = createSession({ onEffect: this.notes.hear, limits: { waiting: 200_000 } });
    this.#ends.push(
      keepTime(this.#session),
      this.#session.subscribe(() => this.#plan()),
    );
    void this.#follow();
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    const url = path(["runs", this.id, "events"], { format: "jsonl" });
    const options = {
      session: this.#session,
      signal,
      // Where events come in any order, the end is not the last of them: the reducer says when.
      until: "abort" as const,
      headers: headers(),
      backOff: { first: 400, most: 8_000 },
      fetch: (address: string, init: RequestInit) =>
        fetch(address, { ...init, credentials: "omit", cache: "no-store" }),
    };
    for await (const happened of follow(url, options)) {
      switch (happened.type) {
        case "connected":
          isUp();
          this.line.value = { type: "connected" };
          break;
        case "event":
          this.#keep(happened.data);
          break;
        case "disconnected": {
          if (this.#isOver()) {
            this.line.value = { type: "over" };
            this.#plan();
            return;
          }
          isDown();
          const known = this.line.peek();
          const since = known.type === "lost" ? known.since : Date.now();
          const again = Date.now() + happened.retryIn;
          this.line.value = { type: "lost", since, again, why: happened.why };
          break;
        }
        case "refused":
          if (happened.status === 401) isLocked.value = true;
          this.line.value = { type: "refused", status: happened.status };
          break;
        case "ended":
          this.line.value = { type: "over" };
          break;
      }
    }
    if (!signal.aborted) this.#plan();
  }

  #isOver(): boolean {
    return this.#session.getSnapshot().runs.find(({ id }) => id === this.id)?.phase === "ended";
  }

  #keep(line: string): void {
    this.lines.push(line);
    if (this.lines.length > MOST_LINES + 10_000) {
      this.left += this.lines.length - MOST_LINES;
      this.lines.splice(0, this.lines.length - MOST_LINES);
    }
  }

  /** Looks soon, and less often the longer a look takes. */
  #plan(): void {
    if (this.#timer !== undefined || this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => this.#look(), Math.max(PACE, this.#cost * 6));
  }

  #look(): void {
    this.#timer = undefined;
    const began = performance.now();
    const { runs, tasks } = this.#session.getSnapshot();
    const run = runs.find(({ id }) => id === this.id);
    this.shown.value = { run, tasks, look: this.shown.peek().look + 1 };
    this.#cost = performance.now() - began;
  }
}
