/** JSON that nobody looks into: it stays as it was spelled until somebody asks. */

import { isBroken } from "./text.js";

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

  /** The value, read; `null` if others cannot read it. The same object every time. */
  get value(): unknown {
    return this.#read() ?? null;
  }

  /**
   * What a person would read: a string's text, the texts of a list of text blocks, or the JSON
   * itself.
   */
  plain(): string {
    const value = this.#read();
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

  /** Nothing if others cannot read it. */
  #read(): unknown {
    if (this.#value === UNREAD) {
      const value: unknown = JSON.parse(this.raw);
      this.#value = isSound(value, 0) ? value : undefined;
    }
    return this.#value;
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
const LINE_BREAK = /[\n\r]/;
const LINE_BREAKS = /[\n\r]/g;
/** More than this deep, other readers give up. */
const DEEPEST = 127;

function trimmed(text: string): string {
  return text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, "");
}

/** Whether other readers read the same: no half characters, no endless numbers, not too deep. */
function isSound(value: unknown, depth: number): boolean {
  if (typeof value === "string") return !isBroken(value);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === DEEPEST) return false;
  if (Array.isArray(value)) return value.every((item) => isSound(item, depth + 1));
  return Object.entries(value).every(
    ([key, inside]) => !isBroken(key) && isSound(inside, depth + 1),
  );
}

function textOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return undefined;
  const { type, text } = item as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : undefined;
}
