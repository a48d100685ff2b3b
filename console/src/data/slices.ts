/**
 * A long list on the server of which only the rows around the visible ones are loaded. Rows of
 * different versions of the file are never mixed.
 */

import { signal } from "@preact/signals";

import type { Sliced } from "./types.js";

/** Rows per request, and rows kept on each side of the visible ones. */
const PAGE_SIZE = 120;
const ROWS_AROUND = 1_500;

export class Slices<T> {
  /** The number of rows; undefined before the first page. */
  readonly total = signal<number | undefined>(undefined);
  /** Changes whenever rows are added or removed. */
  readonly changes = signal(0);
  readonly error = signal<Error | undefined>(undefined);
  #rows = new Map<number, T>();
  #loading: number | undefined;
  #visible: readonly [number, number] | undefined;
  #version: string | undefined;
  readonly #abort = new AbortController();

  /** `first` is the server's number of the first row. */
  constructor(
    private readonly load: (from: number, limit: number, signal: AbortSignal) => Promise<Sliced<T>>,
    private readonly first = 0,
  ) {}

  row(index: number): T | undefined {
    return this.#rows.get(index);
  }

  /** The number of loaded rows, for tests. */
  get size(): number {
    return this.#rows.size;
  }

  /** Sets the visible rows and loads those that are missing. */
  setVisible(from: number, to: number): void {
    this.#visible = [from, to];
    void this.#fetch();
  }

  close(): void {
    this.#abort.abort();
  }

  async #fetch(): Promise<void> {
    if (this.#loading !== undefined || this.#visible === undefined) return;
    const [from, to] = this.#visible;
    const start = this.#missing(from, to);
    if (start === undefined) return;
    this.#loading = start;
    try {
      const page = await this.load(start + this.first, PAGE_SIZE, this.#abort.signal);
      if (this.#abort.signal.aborted) return;
      this.#store(start, page);
      this.error.value = undefined;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error.value = error as Error;
      this.#loading = undefined;
      return;
    }
    this.#loading = undefined;
    void this.#fetch();
  }

  /** The first visible row that is not loaded. */
  #missing(from: number, to: number): number | undefined {
    const total = this.total.peek();
    if (total === undefined) return Math.max(0, from);
    for (let at = Math.max(0, from); at < Math.min(to, total); at += 1) {
      if (!this.#rows.has(at)) return at;
    }
    return undefined;
  }

  #store(start: number, page: Sliced<T>): void {
    if (this.#version !== undefined && page.version !== this.#version) this.#rows = new Map();
    this.#version = page.version;
    page.data.forEach((row, at) => this.#rows.set(start + at, row));
    // An unexpectedly empty page would be requested again forever.
    const total = page.data.length === 0 ? Math.min(page.total, start) : page.total;
    const [from, to] = this.#visible ?? [0, 0];
    for (const at of this.#rows.keys()) {
      if (at < from - ROWS_AROUND || at > to + ROWS_AROUND) this.#rows.delete(at);
    }
    this.total.value = total;
    this.changes.value += 1;
  }
}
