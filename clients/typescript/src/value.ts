/** JSON values that stay raw text until they are read. */

import { wellFormed } from "./text.js";

/** A JSON value with its original spelling. */
export class Json {
  /** The raw JSON text. */
  readonly raw: string;
  #value: unknown = NOT_PARSED;

  private constructor(raw: string) {
    this.raw = raw;
  }

  /** Parses a JSON text onto one line; undefined if it is not JSON. */
  static parse(text: string): Json | undefined {
    return isJson(text) ? Json.known(trimmed(text)) : undefined;
  }

  /** Takes a text that is known to be JSON, and puts it onto one line. */
  static known(raw: string): Json {
    return new Json(LINE_BREAK.test(raw) ? raw.replace(LINE_BREAKS, " ") : raw);
  }

  /** A text, as a JSON string. */
  static string(text: string): Json {
    return new Json(JSON.stringify(text));
  }

  /** Any value; undefined if it cannot be written as JSON. */
  static of(value: unknown): Json | undefined {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : new Json(text);
  }

  /**
   * The parsed value. Lone surrogates become U+FFFD. A value that not every implementation can
   * parse (too deep, or with an infinite number) is returned as its raw text. Returns the same
   * object every time.
   */
  get value(): unknown {
    if (this.#value === NOT_PARSED) {
      const value = sanitize(JSON.parse(this.raw), 0);
      this.#value = value === UNREADABLE ? this.raw : value;
    }
    return this.#value;
  }

  /**
   * Text for people: a string, the text of a list of text blocks, or the JSON itself.
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

const NOT_PARSED = Symbol("unread");
const UNREADABLE = Symbol("unreadable");
const LINE_BREAK = /[\n\r]/;
const LINE_BREAKS = /[\n\r]/g;
/** Other implementations reject deeper values. */
const MAX_DEPTH = 127;

function trimmed(text: string): string {
  return text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "");
}

/** The value without lone surrogates; `UNREADABLE` if it is too deep or has an infinite number. */
function sanitize(value: unknown, depth: number): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : UNREADABLE;
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return UNREADABLE;
  const fields = Object.entries(value);
  const sanitized = fields.map(([name, nested]) => [wellFormed(name), sanitize(nested, depth + 1)]);
  if (sanitized.some(([, nested]) => nested === UNREADABLE)) return UNREADABLE;
  const isSame = sanitized.every(
    ([name, nested], at) => name === fields[at]?.[0] && nested === fields[at]?.[1],
  );
  if (isSame) return value;
  if (Array.isArray(value)) return sanitized.map(([, nested]) => nested);
  return Object.fromEntries(sanitized) as unknown;
}

function textOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return undefined;
  const { type, text } = item as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : undefined;
}
