/** JSON that nobody looks into: it stays as it was spelled until somebody asks. */

import { wellFormed } from "./text.js";

/** A JSON value as it was spelled. */
export class Json {
  /** The value as it was spelled. */
  readonly raw: string;
  #value: unknown = UNREAD;

  private constructor(raw: string) {
    this.raw = raw;
  }

  /** Takes a text that is JSON; nothing else. It is kept on one line. */
  static parse(text: string): Json | undefined {
    return isJson(text) ? Json.known(trimmed(text)) : undefined;
  }

  /** Takes a text that is known to be JSON, and puts it on one line. */
  static known(raw: string): Json {
    return new Json(LINE_BREAK.test(raw) ? raw.replace(LINE_BREAKS, " ") : raw);
  }

  /** A text, as a JSON string. */
  static string(text: string): Json {
    return new Json(JSON.stringify(text));
  }

  /** Any value; `undefined` if it has no JSON. */
  static of(value: unknown): Json | undefined {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : new Json(text);
  }

  /**
   * The value, read. Half a character, where somebody cut a text, becomes U+FFFD; what cannot be
   * read everywhere (too deep, a number beyond all numbers) is told as the text it is. The same
   * object every time.
   */
  get value(): unknown {
    if (this.#value === UNREAD) {
      const value = wholeOf(JSON.parse(this.raw), 0);
      this.#value = value === UNREADABLE ? this.raw : value;
    }
    return this.#value;
  }

  /**
   * What a person would read: a string's text, the texts of a list of text blocks, or the JSON
   * itself.
   */
  plain(): string {
    const { value } = this;
    if (typeof value === "string") return value;
    if (value === null) return "";
    if (!Array.isArray(value)) return this.raw;
    const texts: string[] = [];
    for (const item of value) {
      const text = textOf(item);
      if (text === undefined) return this.raw;
      texts.push(text);
    }
    return texts.join("\n");
  }

  /** For `JSON.stringify`. */
  toJSON(): unknown {
    return this.value;
  }
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const UNREAD = Symbol("unread");
const UNREADABLE = Symbol("unreadable");
const LINE_BREAK = /[\n\r]/;
const LINE_BREAKS = /[\n\r]/g;
/** More than this deep, other readers give up. */
const DEEPEST = 127;

function trimmed(text: string): string {
  return text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "");
}

/** The value without halves of characters; or that it is too deep, or holds an endless number. */
function wholeOf(value: unknown, depth: number): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : UNREADABLE;
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEEPEST) return UNREADABLE;
  const fields = Object.entries(value);
  const wholes = fields.map(([name, inside]) => [wellFormed(name), wholeOf(inside, depth + 1)]);
  if (wholes.some(([, inside]) => inside === UNREADABLE)) return UNREADABLE;
  const isSame = wholes.every(
    ([name, inside], at) => name === fields[at]?.[0] && inside === fields[at]?.[1],
  );
  if (isSame) return value;
  if (Array.isArray(value)) return wholes.map(([, inside]) => inside);
  return Object.fromEntries(wholes) as unknown;
}

function textOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return undefined;
  const { type, text } = item as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : undefined;
}
