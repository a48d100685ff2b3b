/**
 * String helpers that match the Rust implementation. Its strings are UTF-8 and have no lone
 * surrogates; ours are UTF-16 and may have them.
 */

/** Replaces lone surrogates by U+FFFD. */
export function wellFormed(text: string): string {
  return LONE_SURROGATE.test(text) ? text.replace(LONE_SURROGATES, "\ufffd") : text;
}

/** Whether a text is only white space. */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** Whether a text contains white space. */
export function hasSpace(text: string): boolean {
  return SPACE.test(text);
}

/** Removes leading white space. */
export function trimStart(text: string): string {
  return text.replace(LEADING, "");
}

/** The first `characters` characters. */
export function first(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = 0;
  for (let count = 0; count < characters && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

// With `u`, a surrogate pair is one character and does not match.
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const LONE_SURROGATES = /[\ud800-\udfff]/gu;
// White space as Unicode defines it; `\s` in JavaScript differs in two characters.
const WHITE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANK = new RegExp(`^[${WHITE}]*$`);
const SPACE = new RegExp(`[${WHITE}]`);
const LEADING = new RegExp(`^[${WHITE}]+`);
