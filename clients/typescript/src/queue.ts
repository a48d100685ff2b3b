/** A FIFO queue with constant cost per operation. */

export class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest item. */
  front(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 32 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  includes(item: T): boolean {
    return this.#items.includes(item, this.#head);
  }

  /** All items, oldest first. */
  values(): T[] {
    return this.#items.slice(this.#head) as T[];
  }

  replace(items: T[]): void {
    this.#items = items;
    this.#head = 0;
  }
}
