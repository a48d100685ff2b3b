/** Time as the machine counts it: it never goes back, whatever the caller's clock does. */

/** Milliseconds that went by, beside the caller's clock. */
export class Clock {
  #elapsed = 0;
  #now = 0;
  #begun = false;

  advance(told: number): void {
    // What is no number of milliseconds is no news.
    const now = Number.isFinite(told) ? Math.max(0, Math.floor(told)) : this.#now;
    if (this.#begun) this.#elapsed += Math.max(0, now - this.#now);
    this.#begun = true;
    this.#now = now;
  }

  /** The moment that lies so far ahead. */
  later(by: number): number {
    return this.#elapsed + by;
  }

  hasPassed(moment: number): boolean {
    return this.#elapsed >= moment;
  }

  /** A moment, on the caller's clock. */
  tell(moment: number): number {
    return this.#now + Math.max(0, moment - this.#elapsed);
  }
}
