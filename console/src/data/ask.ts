/** Requests to the server, and whether it responds. */

import { signal } from "@preact/signals";

import { language } from "../settings.js";
import { headers, markAccepted, markRejected } from "./token.js";

/** Whether the server responds; if not, since when. */
export type ServerState =
  | { readonly type: "unknown" }
  | { readonly type: "up" }
  | { readonly type: "down"; readonly since: number };

/** Whether the last request got a response. */
export const server = signal<ServerState>({ type: "unknown" });

/** The server responded with an error status. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    /** The error code, such as `run_not_found`; empty if the response has none. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The server did not respond. */
export class Unreachable extends Error {}

export interface RequestOptions {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Requests JSON. */
export async function fetchJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** Requests text. */
export async function fetchText(path: string, options: RequestOptions = {}): Promise<string> {
  return (await send(path, options)).text();
}

/** Records that the server responded, to a request or on a stream. */
export function markUp(): void {
  if (server.peek().type !== "up") server.value = { type: "up" };
}

/** Records that the server did not respond. */
export function markDown(): void {
  if (server.peek().type !== "down") server.value = { type: "down", since: Date.now() };
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const { method = "GET", body, signal } = options;
  const requestHeaders: Record<string, string> = {
    accept: "application/json",
    // What the server says about errors and losses is in the language of the console.
    "accept-language": language.peek(),
    ...headers(),
    ...options.headers,
  };
  if (body !== undefined) requestHeaders["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: requestHeaders,
      credentials: "omit",
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    markDown();
    throw new Unreachable(error instanceof Error ? error.message : String(error));
  }
  markUp();
  if (response.status === 401) markRejected();
  else markAccepted();
  if (!response.ok) throw await httpError(response);
  return response;
}

async function httpError(response: Response): Promise<HttpError> {
  let code = "";
  let message = `${response.status}`;
  try {
    const { error } = (await response.json()) as { error?: { code?: string; message?: string } };
    code = error?.code ?? "";
    message = error?.message ?? message;
  } catch {
    // Not our error format: only the status is known.
  }
  return new HttpError(response.status, code, message);
}

/** An API path with query parameters. Parameters without a value are left out. */
export function path(
  segments: readonly string[],
  parameters: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") search.set(name, String(value));
  }
  const head = `/v1/${segments.map(encodeURIComponent).join("/")}`;
  return search.size === 0 ? head : `${head}?${search.toString()}`;
}
