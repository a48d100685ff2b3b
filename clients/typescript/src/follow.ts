/**
 * Follows a run on a server: reads its event stream, applies the events to a session, and resumes
 * after the last event when the connection is lost. Every connection loss is reported.
 */

import type { Effect } from "./effect.js";
import type { Session } from "./session.js";
import { ServerEvents } from "./sse.js";
import { read } from "./wire/read.js";

/** An update while a run is followed. */
export type Followed =
  /** Connected; events will follow. */
  | { readonly type: "connected" }
  /** An event arrived and had these effects. */
  | {
      readonly type: "event";
      readonly id: string;
      readonly data: string;
      readonly effects: readonly Effect[];
    }
  /** The connection is lost: the state may be out of date. The next attempt is in `retryIn` ms. */
  | { readonly type: "disconnected"; readonly why: string; readonly retryIn: number }
  /** The server refused, and a retry would not help. The last update. */
  | { readonly type: "refused"; readonly status: number }
  /** The run ended. The last update. */
  | { readonly type: "ended" };

/** Options for `follow`. */
export interface FollowOptions {
  /** The session that events are applied to. */
  readonly session?: Session;
  /** Resume after this event. */
  readonly lastEventId?: string;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts. */
  readonly signal?: Signal;
  /** When to stop: at the end of the run (default), or only when aborted. */
  readonly until?: "end" | "abort";
  /** The first and the longest retry delay, in milliseconds. */
  readonly backOff?: { readonly first?: number; readonly most?: number };
  /** The longest accepted event, in characters. */
  readonly longest?: number;
  /** Requests the stream; by default the platform's `fetch`. */
  fetch?(url: string, init: RequestLike): Promise<ReplyLike>;
  /** The clock for the session, in milliseconds. */
  now?(): number;
  /** Waits before a retry; by default with a timer. */
  wait?(milliseconds: number, signal?: Signal): Promise<void>;
  /** A number from 0 to 1 that spreads retries of many clients. */
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
      if (!reply.ok || reply.body === null) {
        throw new Error(`the server responded with ${reply.status}`);
      }
      yield { type: "connected" };
      for await (const chunk of chunks(reply.body, signal)) {
        for (const { id, data } of events.push(chunk)) {
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

/** The options that are passed to `fetch`. */
export interface RequestLike {
  readonly headers: Record<string, string>;
  // The platform's own type is not available here.
  readonly signal?: any;
}

/** The parts of a response that are used. */
export interface ReplyLike {
  readonly ok: boolean;
  readonly status: number;
  readonly body: BodyLike | null;
}

/** The parts of a response body that are used. */
export interface BodyLike {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<unknown>;
  };
}

/** The parts of an `AbortSignal` that are used. */
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
  const address = eventsUrl(url);
  return options.fetch === undefined ? fetch(address, init) : options.fetch(address, init);
}

/** The URL with `format=jsonl`, unless it has a format already. */
function eventsUrl(url: string): string {
  const [address = "", fragment] = url.split("#");
  if (/[?&]format=/.test(address)) return url;
  const withFormat = `${address}${address.includes("?") ? "&" : "?"}format=jsonl`;
  return fragment === undefined ? withFormat : `${withFormat}#${fragment}`;
}

/** Whether a retry would give the same response. */
function isFinal(status: number): boolean {
  if (status === 204) return true;
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

/** The stream as text. It is always released. */
async function* chunks(body: BodyLike, signal: Signal | undefined): AsyncGenerator<string> {
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

/** Retry delays: each is twice as long as the last, until an event arrives. */
class Delays {
  readonly #first: number;
  readonly #max: number;
  readonly #random: () => number;
  #attempts = 0;

  constructor({ backOff = {}, random }: FollowOptions) {
    this.#first = backOff.first ?? 500;
    this.#max = backOff.most ?? 30_000;
    this.#random = () => random?.() ?? Math.random();
  }

  reset(): void {
    this.#attempts = 0;
  }

  /** The next delay, or a longer one if the server sent it. */
  next(serverDelay: number | undefined): number {
    const limit = Math.min(this.#max, this.#first * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    const delay = Math.round(limit / 2 + (limit / 2) * this.#random());
    return Math.max(delay, Math.min(serverDelay ?? 0, this.#max));
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
