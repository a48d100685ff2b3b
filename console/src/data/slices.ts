/**
 * A long list on the server, of which only what is looked at is here. Pages come from any place;
 * pages of another version of the file never stand beside each other.
 */

import { signal } from "@preact/signals";

import type { Sliced } from "./types.js";

/** How many rows are asked for at once, and how many are kept on each side of what is seen. */
const PAGE = 120;
const KEPT = 1_500;

export class Slices<T> {
  /** How many rows there are; nothing before the first page. */
  readonly total = signal<number | undefined>(undefined);
  /** Changes whenever rows came or went. */
  readonly changes = signal(0);
  readonly error = signal<Error | undefined>(undefined);
  #rows = new Map<number, T>();
  #asked: number | undefined;
  #wanted: readonly [number, number] | undefined;
  #version: string | undefined;
  readonly #abort = new AbortController();

  /** `first` is the number of the first row, as the server counts. */
  constructor(
    private readonly load: (from: number, limit: number, signal: AbortSignal) => Promise<Sliced<T>>,
    private readonly first = 0,
  ) {}

  row(index: number): T | undefined {
    return this.#rows.get(index);
  }

  /** Rows that are there, for tests. */
  get size(): number {
    return this.#rows.size;
  }

  /** Somebody looks at these rows. */
  want(from: number, to: number): void {
    this.#wanted = [from, to];
    void this.#fetch();
  }

  close(): void {
    this.#abort.abort();
  }

  async #fetch(): Promise<void> {
    if (this.#asked !== undefined || this.#wanted === undefined) return;
    const [from, to] = this.#wanted;
    const start = this.#missing(from, to);
    if (start === undefined) return;
    this.#asked = start;
    try {
      const page = await this.load(start + this.first, PAGE, this.#abort.signal);
      if (this.#abort.signal.aborted) return;
      this.#take(start, page);
      this.error.value = undefined;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error.value = error as Error;
      this.#asked = undefined;
      return;
    }
    this.#asked = undefined;
    void this.#fetch();
  }

  /** The first row that is looked at and not here. */
  #missing(from: number, to: number): number | undefined {
    const total = this.total.peek();
    if (total === undefined) return Math.max(0, from);
    for (let at = Math.max(0, from); at < Math.min(to, total); at += 1) {
      if (!this.#rows.has(at)) return at;
    }
    return undefined;
  }

  #take(start: number, page: Sliced<T>): void {
    if (this.#version !== undefined && page.version !== this.#version) this.#rows = new Map();
    this.#version = page.version;
    page.data.forEach((row, at) => this.#rows.set(start + at, row));
    // A page without rows where there should be some would be asked for again for ever.
    const total = page.data.length === 0 ? Math.min(page.total, start) : page.total;
    const [from, to] = this.#wanted ?? [0, 0];
    for (const at of this.#rows.keys()) {
      if (at < from - KEPT || at > to + KEPT) this.#rows.delete(at);
    }
    this.total.value = total;
    this.changes.value += 1;
  }
}
