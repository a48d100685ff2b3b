/**
 * Follows a run on a server: events come in as a stream, are given to a session, and whoever lost
 * the connection goes on behind the last event it saw. It never claims to be connected when it is
 * not.
 */

import type { Effect } from "./effect.js";
import type { Session } from "./session.js";
import { ServerEvents } from "./sse.js";
import { read } from "./wire/read.js";

/** What happens while a run is followed. */
export type Followed =
  /** The server answered, and events will come. */
  | { readonly type: "connected" }
  /** An event came, and changed this. */
  | {
      readonly type: "event";
      readonly id: string;
      readonly data: string;
      readonly effects: readonly Effect[];
    }
  /** The connection is gone: what is shown may be old. The next attempt begins in so long. */
  | { readonly type: "disconnected"; readonly why: string; readonly retryIn: number }
  /** The server will not, and asking again does not help. The last of all. */
  | { readonly type: "refused"; readonly status: number }
  /** The run is over, and nothing more will come. The last of all. */
  | { readonly type: "ended" };

/** How a run is followed. */
export interface FollowOptions {
  /** Every event is given to it. */
  readonly session?: Session;
  /** Go on behind this event. */
  readonly lastEventId?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the following. */
  readonly signal?: Signal;
  /** When to stop: at the end of the run (the usual), or only when somebody says so. */
  readonly until?: "end" | "abort";
  /** How long to wait before trying again, in milliseconds: at first, and at most. */
  readonly backOff?: { readonly first?: number; readonly most?: number };
  /** The longest event that is taken, in characters. */
  readonly longest?: number;
  /** Gets the stream; the usual one is that of the platform. */
  fetch?(url: string, init: RequestLike): Promise<ReplyLike>;
  /** The time, for the session. */
  now?(): number;
  /** Waits; the usual one is that of the platform. */
  wait?(milliseconds: number, signal?: Signal): Promise<void>;
  /** A number from 0 to 1, so that not all come back at the same moment. */
  random?(): number;
}

/** Follows a run: `for await (const happened of follow(url, { session })) …` */
export async function* follow(
  url: string,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void, void> {
  const { session, signal, until = "end" } = options;
  const now = () => options.now?.() ?? Date.now();
  const wait = options.wait ?? pause;
  const delays = new Delays(options);
  let lastId = options.lastEventId ?? "";
  while (!isAborted(signal)) {
    const events = new ServerEvents(lastId, options.longest ?? 64 * 1024 * 1024);
    let why = "the stream ended before the run did";
    try {
      const reply = await request(url, lastId, options);
      if (isFinal(reply.status)) {
        yield reply.status === 204 ? { type: "ended" } : { type: "refused", status: reply.status };
        return;
      }
      if (!reply.ok || reply.body === null) throw new Error(`the server answered ${reply.status}`);
      yield { type: "connected" };
      for await (const piece of pieces(reply.body, signal)) {
        for (const { id, data } of events.push(piece)) {
          lastId = id;
          delays.reset();
          const effects = session?.apply(data, now()) ?? [];
          yield { type: "event", id, data, effects };
          if (until === "end" && isEnd(data)) {
            yield { type: "ended" };
            return;
          }
        }
      }
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    if (isAborted(signal)) return;
    const retryIn = delays.next(events.retry);
    yield { type: "disconnected", why, retryIn };
    await wait(retryIn, signal);
  }
}

/** What is asked of the platform's `fetch`. */
export interface RequestLike {
  readonly headers: Record<string, string>;
  // The platform's own type is not known here.
  readonly signal?: any;
}

/** What is asked of an answer. */
export interface ReplyLike {
  readonly ok: boolean;
  readonly status: number;
  readonly body: BodyLike | null;
}

/** What is asked of a stream. */
export interface BodyLike {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<unknown>;
  };
}

/** What is asked of an `AbortSignal`. */
export interface Signal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

declare function fetch(url: string, init: RequestLike): Promise<ReplyLike>;
declare function setTimeout(run: () => void, milliseconds: number): unknown;
declare function clearTimeout(timer: unknown): void;
declare const TextDecoder: new () => {
  decode(bytes?: Uint8Array, options?: { readonly stream: boolean }): string;
};

function request(url: string, lastId: string, options: FollowOptions): Promise<ReplyLike> {
  const headers: Record<string, string> = { accept: "text/event-stream", ...options.headers };
  if (lastId !== "") headers["last-event-id"] = lastId;
  const init = options.signal === undefined ? { headers } : { headers, signal: options.signal };
  const asked = asLines(url);
  return options.fetch === undefined ? fetch(asked, init) : options.fetch(asked, init);
}

/** The address of our own events. */
function asLines(url: string): string {
  const [address = "", fragment] = url.split("#");
  if (/[?&]format=/.test(address)) return url;
  const asked = `${address}${address.includes("?") ? "&" : "?"}format=jsonl`;
  return fragment === undefined ? asked : `${asked}#${fragment}`;
}

/** Whether asking again would be answered in the same way. */
function isFinal(status: number): boolean {
  if (status === 204) return true;
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

/** The stream as text. It is let go whatever happens. */
async function* pieces(body: BodyLike, signal: Signal | undefined): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal?.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || isAborted(signal)) return;
      if (value !== undefined) yield decoder.decode(value, { stream: true });
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

function isEnd(data: string): boolean {
  return read(data).event?.body.type === "ended";
}

function isAborted(signal: Signal | undefined): boolean {
  return signal?.aborted === true;
}

/** How long to wait: twice as long every time, until something comes. */
class Delays {
  readonly #first: number;
  readonly #most: number;
  readonly #random: () => number;
  #attempts = 0;

  constructor({ backOff = {}, random }: FollowOptions) {
    this.#first = backOff.first ?? 500;
    this.#most = backOff.most ?? 30_000;
    this.#random = () => random?.() ?? Math.random();
  }

  reset(): void {
    this.#attempts = 0;
  }

  /** The next delay. The server may ask for a longer one. */
  next(asked: number | undefined): number {
    const longest = Math.min(this.#most, this.#first * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    const delay = Math.round(longest / 2 + (longest / 2) * this.#random());
    return Math.max(delay, Math.min(asked ?? 0, this.#most));
  }
}

function pause(milliseconds: number, signal?: Signal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}
