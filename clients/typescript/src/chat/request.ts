/** Requests of a chat to the gateway. */

import type { BodyLike, Signal } from "../follow.js";

/** The options that are passed to `fetch`. */
export interface ChatRequest {
  readonly method: "GET" | "POST";
  readonly headers: Record<string, string>;
  readonly body?: string;
  // The platform's own type is not available here.
  readonly signal?: any;
}

/** The parts of a response that are used. */
export interface ChatReply {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: BodyLike | null;
  json(): Promise<unknown>;
}

export type ChatFetch = (url: string, init: ChatRequest) => Promise<ChatReply>;

/** Why a request failed. */
export class ChatError extends Error {
  constructor(
    /** The HTTP status; 0 if there was no response. */
    readonly status: number,
    /** The error code of the gateway, such as `model_not_found`; empty if there is none. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** An approval request or a question of an agent. */
export interface ChatQuestion {
  readonly question: string;
  readonly kind: "permission" | "questions";
  readonly tool: string;
  readonly call: string | null;
  readonly input: unknown;
}

/** The answer to a question. */
export type Decision =
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly message?: string }
  | { readonly answers: Readonly<Record<string, string>> };

declare function fetch(url: string, init: ChatRequest): Promise<ChatReply>;

/** The platform's `fetch`, called without an object, as browsers require. */
const platformFetch: ChatFetch = (url, init) => fetch(url, init);

/** Sends requests with the headers of the chat. */
export class ChatClient {
  constructor(
    private readonly url: string,
    private readonly headers: () => Readonly<Record<string, string>>,
    /** Sends a request as it is. */
    readonly fetch: ChatFetch = platformFetch,
  ) {}

  /** The address of an API path. */
  address(path: string): string {
    return `${this.url.replace(/\/$/, "")}${path}`;
  }

  authorization(): Record<string, string> {
    return { ...this.headers() };
  }

  /** Requests JSON. */
  async json<T>(path: string, body?: unknown, signal?: Signal): Promise<T> {
    return (await (await this.request(path, body, {}, signal)).json()) as T;
  }

  /** Sends a request. A response that is no success is an error. */
  async request(
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal?: Signal,
  ): Promise<ChatReply> {
    const sent = { accept: "application/json", ...this.headers(), ...headers };
    const init: ChatRequest = {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? sent : { ...sent, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    let reply: ChatReply;
    try {
      reply = await this.fetch(this.address(path), init);
    } catch (error) {
      throw new ChatError(0, "unreachable", error instanceof Error ? error.message : String(error));
    }
    if (reply.ok) return reply;
    const { error } = (await reply.json().catch(() => ({}))) as {
      error?: { code?: unknown; message?: unknown };
    };
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    throw new ChatError(reply.status, text(error?.code), text(error?.message));
  }
}
