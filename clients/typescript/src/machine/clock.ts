/** A monotonic clock on top of the caller's clock. */

/** Elapsed milliseconds. They never decrease, even if the caller's clock jumps back. */
export class MachineClock {
  #elapsed = 0;
  #now = 0;
  #begun = false;

  advance(callerTime: number): void {
    // A value that is not finite is ignored.
    const now = Number.isFinite(callerTime) ? Math.max(0, Math.floor(callerTime)) : this.#now;
    if (this.#begun) this.#elapsed += Math.max(0, now - this.#now);
    this.#begun = true;
    this.#now = now;
  }

  /** The moment that is `by` milliseconds ahead. */
  later(by: number): number {
    return this.#elapsed + by;
  }

  hasPassed(moment: number): boolean {
    return this.#elapsed >= moment;
  }

  /** Converts a moment to the caller's clock. */
  toCallerTime(moment: number): number {
    return this.#now + Math.max(0, moment - this.#elapsed);
  }
}
