/**
 * Where the records of a tree are drawn, when they come in the order of a file: whoever goes on
 * behind the newest record of a lane stays in it, everybody else begins one of their own.
 */

/** The last lane is shared by all that do not fit. */
const MOST = 6;

export class Lanes {
  readonly #lane: number[] = [];
  readonly #row = new Map<number, number>();
  /** For each lane: its rows, from the first to the last, and from where it branched off. */
  readonly #spans: { from: number; to: number }[] = [];
  readonly #tips: number[] = [];

  /** The next record. */
  add(record: number, parent: number | null): void {
    const at = this.#lane.length;
    const above = parent === null ? undefined : this.#row.get(parent);
    const inherited = above === undefined ? undefined : this.#lane[above];
    let lane = this.#spans.length;
    if (inherited !== undefined && this.#tips[inherited] === above) lane = inherited;
    // Its parent is not in the list: it goes on behind what stands before it.
    else if (above === undefined && at > 0) lane = this.#lane[at - 1] ?? 0;
    lane = Math.min(lane, MOST - 1);
    const span = this.#spans[lane];
    if (span === undefined) this.#spans[lane] = { from: above ?? at, to: at };
    else span.to = at;
    this.#tips[lane] = at;
    this.#lane.push(lane);
    this.#row.set(record, at);
  }

  /** The lane of a row. */
  lane(row: number): number {
    return this.#lane[row] ?? 0;
  }

  /** Lanes that pass a row. */
  open(row: number): readonly number[] {
    const all: number[] = [];
    this.#spans.forEach(({ from, to }, lane) => {
      if (from <= row && row <= to) all.push(lane);
    });
    return all;
  }
}
