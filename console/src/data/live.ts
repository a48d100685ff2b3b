/** A live run: feeds the run reducer from an event stream and reports when the stream is lost. */

import { signal } from "@preact/signals";

import {
  type RunSnapshot,
  type Session,
  type TaskTruth,
  createSession,
  follow,
  keepTime,
} from "../run.js";
import { markDown, markUp, path } from "./ask.js";
import { Notes, type Announcement } from "./notes.js";
import { headers, isLocked } from "./token.js";

/** Whether the shown state is current. */
export type ConnectionState =
  | { readonly type: "connecting" }
  | { readonly type: "connected" }
  | {
      readonly type: "lost";
      readonly since: number;
      readonly retryAt: number;
      readonly why: string;
    }
  | { readonly type: "refused"; readonly status: number }
  | { readonly type: "over" };

/** The state that pages render. */
export interface RunView {
  readonly run: RunSnapshot | undefined;
  readonly tasks: readonly TaskTruth[];
  /** Increases with every update. */
  readonly version: number;
}

/** The shortest time between two redraws, in milliseconds. */
const MIN_REDRAW_MS = 60;
/** How many of the newest log lines are kept for the inspector. */
const MAX_LINES = 200_000;

export class LiveRun {
  readonly connection = signal<ConnectionState>({ type: "connecting" });
  readonly view = signal<RunView>({ run: undefined, tasks: [], version: 0 });
  readonly notes: Notes;
  /** The events as they were received. */
  readonly lines: string[] = [];
  /** The number of older lines that were removed. */
  omitted = 0;
  readonly #session: Session;
  readonly #abort = new AbortController();
  readonly #disposers: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #cost = 0;

  constructor(
    readonly id: string,
    announce: (announcement: Announcement) => void = () => undefined,
  ) {
    this.notes = new Notes(announce);
    // A log can start in the middle of a long run, so many events may have to wait.
    this.#session = createSession({ onEffect: this.notes.onEffect, limits: { waiting: 200_000 } });
    this.#disposers.push(
      keepTime(this.#session),
      this.#session.subscribe(() => this.#schedule()),
    );
    void this.#follow();
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
    for (const dispose of this.#disposers) dispose();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    const url = path(["runs", this.id, "events"], { format: "jsonl" });
    const options = {
      session: this.#session,
      signal,
      // Events can arrive in any order, so `run-ended` need not be the last one.
      // The reducer knows when the run is over.
      until: "abort" as const,
      headers: headers(),
      backOff: { first: 400, most: 8_000 },
      fetch: (address: string, init: RequestInit) =>
        fetch(address, { ...init, credentials: "omit", cache: "no-store" }),
    };
    for await (const update of follow(url, options)) {
      switch (update.type) {
        case "connected":
          markUp();
          this.connection.value = { type: "connected" };
          break;
        case "event":
          this.#addLine(update.data);
          break;
        case "disconnected": {
          if (this.#isOver()) {
            this.connection.value = { type: "over" };
            this.#schedule();
            return;
          }
          markDown();
          const previous = this.connection.peek();
          const since = previous.type === "lost" ? previous.since : Date.now();
          const retryAt = Date.now() + update.retryIn;
          this.connection.value = { type: "lost", since, retryAt, why: update.why };
          break;
        }
        case "refused":
          if (update.status === 401) isLocked.value = true;
          this.connection.value = { type: "refused", status: update.status };
          break;
        case "ended":
          this.connection.value = { type: "over" };
          break;
      }
    }
    if (!signal.aborted) this.#schedule();
  }

  #isOver(): boolean {
    return this.#session.getSnapshot().runs.find(({ id }) => id === this.id)?.phase === "ended";
  }

  #addLine(line: string): void {
    this.lines.push(line);
    if (this.lines.length > MAX_LINES + 10_000) {
      this.omitted += this.lines.length - MAX_LINES;
      this.lines.splice(0, this.lines.length - MAX_LINES);
    }
  }

  /** Schedules an update. Expensive updates run less often. */
  #schedule(): void {
    if (this.#timer !== undefined || this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => this.#publish(), Math.max(MIN_REDRAW_MS, this.#cost * 6));
  }

  #publish(): void {
    this.#timer = undefined;
    const start = performance.now();
    const { runs, tasks } = this.#session.getSnapshot();
    const run = runs.find(({ id }) => id === this.id);
    this.view.value = { run, tasks, version: this.view.peek().version + 1 };
    this.#cost = performance.now() - start;
  }
}
