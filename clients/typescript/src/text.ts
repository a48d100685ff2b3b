/**
 * What strings need so that both implementations see the same: theirs are UTF-8 and never hold
 * half a character, ours are UTF-16 and may.
 */

/** Half a character becomes U+FFFD. */
export function wellFormed(text: string): string {
  return HALF.test(text) ? text.replace(HALVES, "\ufffd") : text;
}

/** Whether there is nothing but white space in a text. */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** Whether there is white space in a text. */
export function hasSpace(text: string): boolean {
  return SPACE.test(text);
}

/** A text without the white space in front of it. */
export function trimStart(text: string): string {
  return text.replace(LEADING, "");
}

/** The first so many characters. */
export function first(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = 0;
  for (let count = 0; count < characters && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

// With `u`, a whole pair is one character and no match.
const HALF = /[\ud800-\udfff]/u;
const HALVES = /[\ud800-\udfff]/gu;
// White space as Unicode has it; `\s` of this language differs in two characters.
const WHITE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANK = new RegExp(`^[${WHITE}]*$`);
const SPACE = new RegExp(`[${WHITE}]`);
const LEADING = new RegExp(`^[${WHITE}]+`);
