/** Server-sent events, out of pieces that end anywhere. */

/** One event. */
export interface ServerEvent {
  /** The name by which a reader asks for what comes after it; empty if there was none. */
  readonly id: string;
  /** What kind it is; usually empty. */
  readonly event: string;
  /** What it says. */
  readonly data: string;
}

/** Takes pieces of a stream, and gives out the events that are complete. */
export class ServerEvents {
  /** The id behind which to go on. */
  lastId: string;
  /** How long to wait before going on, in milliseconds, if the server said so. */
  retry: number | undefined;
  readonly #longest: number;
  /** Complete lines end before it. */
  #rest = "";
  #searched = 0;
  #first = true;
  #id: string;
  #event = "";
  #data: string[] = [];
  #length = 0;

  /** Goes on behind an id. An event longer than `longest` characters is an error. */
  constructor(lastId: string, longest: number) {
    this.lastId = lastId;
    this.#id = lastId;
    this.#longest = longest;
  }

  /** The events that a piece completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += piece;
    let start = 0;
    for (let end = this.#lineEnd(start); end >= 0; end = this.#lineEnd(start)) {
      const line = this.#rest.slice(start, end);
      start = end + (this.#rest.startsWith("\r\n", end) ? 2 : 1);
      this.#searched = start;
      const event = this.#line(this.#first ? line.replace(/^\ufeff/, "") : line);
      this.#first = false;
      if (event !== undefined) events.push(event);
    }
    this.#rest = this.#rest.slice(start);
    this.#searched -= start;
    if (this.#rest.length + this.#length > this.#longest) {
      throw new Error("an event of the stream is too long");
    }
    return events;
  }

  /** Where the line ends that begins at `start`; -1 if nobody knows yet. */
  #lineEnd(start: number): number {
    for (let at = Math.max(start, this.#searched); at < this.#rest.length; at += 1) {
      const unit = this.#rest.charCodeAt(at);
      // The line feed behind a last carriage return may come with the next piece.
      if (unit === 0x0d && at + 1 === this.#rest.length) {
        this.#searched = at;
        return -1;
      }
      if (unit === 0x0a || unit === 0x0d) return at;
    }
    this.#searched = this.#rest.length;
    return -1;
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") {
      this.#data.push(value);
      this.#length += value.length + 1;
    }
    if (name === "event") this.#event = value;
    if (name === "id" && !value.includes("\0")) this.#id = value;
    if (name === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    this.lastId = this.#id;
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#length = 0;
    this.#event = "";
    return data.length === 0 ? undefined : { id: this.#id, event, data: data.join("\n") };
  }
}
