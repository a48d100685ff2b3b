/** Where the reader is: the part of the address behind `#`. Every place has an address of its own. */

import { computed, signal } from "@preact/signals";

import { takeToken } from "./data/link.js";
import { offer } from "./data/token.js";

/** A place: its path in pieces, and what stands behind the `?`. */
export interface Place {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads the part behind `#`. What cannot be read is the first page. */
export function parse(hash: string): Place {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const [path, query] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const pieces = path.split("/").filter((piece) => piece !== "");
  return { path: pieces.map(decoded), query: new URLSearchParams(query) };
}

/** The address of a place. */
export function link(
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== ""),
  ).toString();
  const head = `#/${path.map(encodeURIComponent).join("/")}`;
  return search === "" ? head : `${head}?${search}`;
}

const hash = signal(typeof location === "undefined" ? "" : location.hash);

/** Where the reader is. */
export const place = computed(() => parse(hash.value));

/** Goes somewhere. */
export function go(path: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  location.hash = link(path, query);
}

/** Changes what stands behind the `?`, without a new step in the history. */
export function refine(changes: Readonly<Record<string, string>>): void {
  const { path, query } = place.peek();
  const all = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", link(path, all));
  hash.value = location.hash;
}

/** Begins to watch the address. */
export function watchAddress(): void {
  addEventListener("hashchange", () => {
    const link = takeToken(location.hash);
    if (link.hash !== location.hash) {
      history.replaceState(null, "", location.pathname + location.search + link.hash);
      offer(link.token);
    }
    hash.value = location.hash;
  });
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}
