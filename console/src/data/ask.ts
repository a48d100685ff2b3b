/** Asks the server, and knows whether it is there. */

import { signal } from "@preact/signals";

import { headers, isAccepted, isRefused } from "./token.js";

/** Whether the server answers: since when not, if it does not. */
export type Link =
  | { readonly type: "unknown" }
  | { readonly type: "up" }
  | { readonly type: "down"; readonly since: number };

/** Whether the last request was answered. */
export const server = signal<Link>({ type: "unknown" });

/** The server answered, and said no. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    /** In a word, such as `run_not_found`. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

/** What a request is made of. */
export interface Wish {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Asks for JSON. */
export async function ask<T>(path: string, wish: Wish = {}): Promise<T> {
  const reply = await send(path, wish);
  if (reply.status === 204) return undefined as T;
  return (await reply.json()) as T;
}

/** Asks for text. */
export async function askText(path: string, wish: Wish = {}): Promise<string> {
  return (await send(path, wish)).text();
}

/** The server answered, on whatever way. */
export function isUp(): void {
  if (server.peek().type !== "up") server.value = { type: "up" };
}

/** The server did not answer. */
export function isDown(): void {
  if (server.peek().type !== "down") server.value = { type: "down", since: Date.now() };
}

async function send(path: string, wish: Wish): Promise<Response> {
  const { method = "GET", body, signal } = wish;
  const all: Record<string, string> = { accept: "application/json", ...headers(), ...wish.headers };
  if (body !== undefined) all["content-type"] = "application/json";
  let reply: Response;
  try {
    reply = await fetch(path, {
      method,
      headers: all,
      credentials: "omit",
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    isDown();
    throw new Unreachable(error instanceof Error ? error.message : String(error));
  }
  isUp();
  if (reply.status === 401) isRefused();
  else isAccepted();
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

async function refusal(reply: Response): Promise<Refused> {
  let code = "";
  let message = `${reply.status}`;
  try {
    const { error } = (await reply.json()) as { error?: { code?: string; message?: string } };
    code = error?.code ?? "";
    message = error?.message ?? message;
  } catch {
    // Not in our form: the status is all that is known.
  }
  return new Refused(reply.status, code, message);
}

/** A path with parameters; those without a value are left out. */
export function path(
  pieces: readonly string[],
  parameters: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") search.set(name, String(value));
  }
  const head = `/v1/${pieces.map(encodeURIComponent).join("/")}`;
  return search.size === 0 ? head : `${head}?${search.toString()}`;
}
