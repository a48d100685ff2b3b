/**
 * Assigns the records of a tree to lanes, in file order. A child of the newest record of a lane
 * stays in that lane; any other record starts a new one.
 */

/** Records that would need more lanes share the last one. */
const MAX_LANES = 6;

export class Lanes {
  readonly #lane: number[] = [];
  readonly #row = new Map<number, number>();
  /** For each lane, its range of rows, starting at the row it branched off from. */
  readonly #spans: { from: number; to: number }[] = [];
  readonly #tips: number[] = [];

  /** Adds the next record. */
  add(record: number, parent: number | null): void {
    const at = this.#lane.length;
    const above = parent === null ? undefined : this.#row.get(parent);
    const inherited = above === undefined ? undefined : this.#lane[above];
    let lane = this.#spans.length;
    if (inherited !== undefined && this.#tips[inherited] === above) lane = inherited;
    // Its parent is not in the list: it continues the lane of the row before it.
    else if (above === undefined && at > 0) lane = this.#lane[at - 1] ?? 0;
    lane = Math.min(lane, MAX_LANES - 1);
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

  /** The lanes that pass through a row. */
  open(row: number): readonly number[] {
    const all: number[] = [];
    this.#spans.forEach(({ from, to }, lane) => {
      if (from <= row && row <= to) all.push(lane);
    });
    return all;
  }
}
