/** Parses server-sent events from chunks of any size. */

/** A server-sent event. */
export interface ServerEvent {
  /** The id to resume after this event; empty if there is none. */
  readonly id: string;
  /** The event type; usually empty. */
  readonly event: string;
  /** The data. */
  readonly data: string;
}

/** Takes chunks of a stream and returns complete events. */
export class ServerEvents {
  /** The id to resume after. */
  lastId: string;
  /** The reconnection delay in milliseconds, if the server sent one. */
  retry: number | undefined;
  readonly #maxLength: number;
  /** The incomplete last line. */
  #rest = "";
  #searched = 0;
  #first = true;
  #id: string;
  #event = "";
  #data: string[] = [];
  #length = 0;

  /** Resumes after an id. An event longer than `maxLength` characters is an error. */
  constructor(lastId: string, maxLength: number) {
    this.lastId = lastId;
    this.#id = lastId;
    this.#maxLength = maxLength;
  }

  /** The events that a chunk completes. */
  push(chunk: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += chunk;
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
    if (this.#rest.length + this.#length > this.#maxLength) {
      throw new Error("an event of the stream is too long");
    }
    return events;
  }

  /** The end of the line that starts at `start`; -1 if it is not complete. */
  #lineEnd(start: number): number {
    for (let at = Math.max(start, this.#searched); at < this.#rest.length; at += 1) {
      const unit = this.#rest.charCodeAt(at);
      // The line feed after a final carriage return may come with the next chunk.
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
