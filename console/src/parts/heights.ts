/** Offsets of the rows of a long list whose heights differ and are mostly unknown. */

export class Heights {
  #heights = new Float64Array(0);
  #tops = new Float64Array(1);
  #count = 0;
  #stale = false;

  /** `guess` is the assumed height of a row that was not measured yet. */
  constructor(private readonly guess: number) {}

  resize(count: number): void {
    if (count === this.#count) return;
    if (count > this.#heights.length) {
      const grown = new Float64Array(Math.max(count, this.#heights.length * 2)).fill(this.guess);
      grown.set(this.#heights.subarray(0, this.#count));
      this.#heights = grown;
      this.#tops = new Float64Array(grown.length + 1);
    } else {
      this.#heights.fill(this.guess, count, this.#count);
    }
    this.#count = count;
    this.#stale = true;
  }

  /** Sets the measured height of a row. Returns the difference to the old height. */
  set(index: number, height: number): number {
    const difference = height - (this.#heights[index] ?? height);
    if (index >= this.#count || Math.abs(difference) < 0.5) return 0;
    this.#heights[index] = height;
    this.#stale = true;
    return difference;
  }

  /** Whether a row has this height already. */
  isKnown(index: number, height: number): boolean {
    return index >= this.#count || Math.abs(height - (this.#heights[index] ?? 0)) < 0.5;
  }

  top(index: number): number {
    this.#sum();
    return this.#tops[Math.min(index, this.#count)] ?? 0;
  }

  total(): number {
    return this.top(this.#count);
  }

  /** The row at an offset. */
  at(offset: number): number {
    this.#sum();
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.min(low, Math.max(0, this.#count - 1));
  }

  #sum(): void {
    if (!this.#stale) return;
    this.#stale = false;
    let sum = 0;
    for (let at = 0; at < this.#count; at += 1) {
      this.#tops[at] = sum;
      sum += this.#heights[at] ?? 0;
    }
    this.#tops[this.#count] = sum;
  }
}
