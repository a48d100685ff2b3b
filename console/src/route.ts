/** Routing by the part of the URL after `#`. Every view has its own address. */

import { computed, signal } from "@preact/signals";

import { takeToken } from "./data/link.js";
import { offerToken } from "./data/token.js";

/** A route: the path segments, and the parameters after `?`. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Parses the part after `#`. An empty path is the first page. */
export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const [path, query] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const segments = path.split("/").filter((segment) => segment !== "");
  return { path: segments.map(decoded), query: new URLSearchParams(query) };
}

/** The address of a route. */
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

/** The current route. */
export const route = computed(() => parse(hash.value));

/** Navigates to a route. */
export function go(path: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  location.hash = link(path, query);
}

/** Changes query parameters without a new history entry. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = route.peek();
  const all = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", link(path, all));
  hash.value = location.hash;
}

/** Starts to follow changes of the address. */
export function watchAddress(): void {
  addEventListener("hashchange", () => {
    const link = takeToken(location.hash);
    if (link.hash !== location.hash) {
      history.replaceState(null, "", location.pathname + location.search + link.hash);
      offerToken(link.token);
    }
    hash.value = location.hash;
  });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
