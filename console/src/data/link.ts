/** A link that brings a token: `#token=…`, alone or behind a place. */

/** What a link says: the token, if there is one, and the address without it. */
export interface LinkToken {
  readonly token: string;
  readonly hash: string;
}

/** Takes the token out of the part behind `#`. An unreadable one is taken out, too, and is none. */
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
