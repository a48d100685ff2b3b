/** Links that carry a token: `#token=…`, alone or after a route. */

/** The token of a link, empty if there is none, and the address without it. */
export interface LinkToken {
  readonly token: string;
  readonly hash: string;
}

/** Removes the token from the part after `#`. An invalid token is removed and counts as none. */
export function takeToken(hash: string): LinkToken {
  const text = hash.replace(/^#/, "");
  const found = /(?:^|[?&])token=([^&]*)/.exec(text);
  if (found === null) return { token: "", hash };
  const rest = text
    .replace(/(^|[?&])token=[^&]*/g, (_, before: string) => (before === "?" ? "?" : ""))
    .replace(/\?&/, "?")
    .replace(/[?&]$/, "")
    .replace(/^&/, "");
  return { token: decoded(found[1] ?? ""), hash: rest === "" ? "" : `#${rest}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return "";
  }
}
