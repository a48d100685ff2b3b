/** A JSON object, taken apart into fields that stay as they are spelled until somebody asks. */

import { first, wellFormed } from "../text.js";
import { Json } from "../value.js";

/** How much of a strange word an operator gets to see. */
const SHOWN = 200;

/** The first strange thing in an event. */
export interface Odd {
  word?: string;
}

/**
 * The fields of an object. A field that is `null` is a field that is missing; of two fields with
 * one name the last one counts. Names in snake_case are names in camelCase.
 */
export class Fields {
  /** Every name, also of what is `null`. */
  readonly #names = new Set<string>();
  readonly #values = new Map<string, string>();
  readonly #odd: Odd;

  /** Takes an object apart. The text has to be valid JSON, and an object. */
  constructor(text: string, odd: Odd) {
    this.#odd = odd;
    for (const { name, raw } of fieldsOf(text)) {
      this.#names.add(name);
      if (raw !== "null") this.#values.set(name, raw);
    }
  }

  /** Keeps something strange for the operator, if nothing stranger came first. */
  note(word: string): void {
    this.#odd.word ??= first(word, SHOWN);
  }

  /** Whether there is a field with this name, be it `null`. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether there are no other fields than these. */
  hasOnly(names: readonly string[]): boolean {
    return [...this.#names].every((name) => names.includes(name));
  }

  /** A value as it is spelled, under the first of the names that has one. */
  raw(...names: string[]): string | undefined {
    return this.#find(names)?.raw;
  }

  /** A value that nobody looks into. */
  json(...names: string[]): Json | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : Json.known(raw);
  }

  /** A string, and nothing else. */
  string(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : stringOf(raw);
  }

  /** A text for people: a string, the texts of a list of blocks, or the JSON itself. */
  text(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : textOf(raw);
  }

  /**
   * A word out of a list that somebody knows; an empty one is none. What is no string is as strange
   * as any other word.
   */
  word(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : (stringOf(raw) ?? raw) || undefined;
  }

  /** The first usable id under these names: a string that is not empty, or a number. */
  id(...names: string[]): string | undefined {
    for (const name of names) {
      const raw = this.raw(name);
      if (raw === undefined) continue;
      const text = stringOf(raw) ?? (/^[-0-9]/.test(raw) ? raw : "");
      if (text !== "") return text;
    }
    return undefined;
  }

  /** A whole number that is not negative, as a number or in a string. Anything else is strange. */
  number(...names: string[]): number | undefined {
    const field = this.#find(names);
    if (field === undefined) return undefined;
    const number = whole(stringOf(field.raw) ?? field.raw);
    if (number === undefined) this.note(`${field.name} ${field.raw}`);
    return number;
  }

  /** Yes or no. Anything else is strange, and missing. */
  flag(...names: string[]): boolean | undefined {
    const field = this.#find(names);
    if (field === undefined) return undefined;
    if (field.raw === "true") return true;
    if (field.raw === "false") return false;
    this.note(`${field.name} ${field.raw}`);
    return undefined;
  }

  /** An object inside of this one. */
  object(...names: string[]): Fields | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : this.inside(raw);
  }

  /** A value of this object or of a list in it, taken apart; nothing if it is not an object. */
  inside(raw: string): Fields | undefined {
    return raw.startsWith("{") ? new Fields(raw, this.#odd) : undefined;
  }

  /** The items of a list, as they are spelled; nothing if it is not a list. */
  list(...names: string[]): string[] | undefined {
    const raw = this.raw(...names);
    return raw?.startsWith("[") === true ? itemsOf(raw) : undefined;
  }

  #find(names: readonly string[]): Field | undefined {
    for (const name of names) {
      const raw = this.#values.get(name);
      if (raw !== undefined) return { name, raw };
    }
    return undefined;
  }
}

/** A valid value, for people. */
export function textOf(raw: string): string {
  const text = stringOf(raw);
  if (text !== undefined) return text;
  return (raw.startsWith("[") ? Json.known(raw).plain() : "") || raw;
}

/** What a valid JSON string says; nothing if the value is not a string. */
export function stringOf(raw: string): string | undefined {
  if (!raw.startsWith('"')) return undefined;
  // Half of a character, where a stream was cut, becomes U+FFFD.
  return wellFormed(raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1));
}

interface Field {
  readonly name: string;
  readonly raw: string;
}

function whole(text: string): number | undefined {
  if (/^\+?[0-9]+$/.test(text)) {
    const digits = text.replace(/^\+?0*/, "");
    if (digits.length < 20 || (digits.length === 20 && digits <= "18446744073709551615")) {
      return Number(digits);
    }
  }
  // `7.0` and `1e3` are whole, too; above this a fraction has no room.
  if (!/^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?$/i.test(text)) return undefined;
  const number = Number(text);
  const isWhole = Number.isInteger(number) && number >= 0 && number <= 2 ** 53;
  return isWhole ? number + 0 : undefined;
}

/** `tool_call_id` as `toolCallId`. */
function camel(name: string): string {
  const [head = "", ...words] = name.split("_");
  const upper = (word: string) => word.replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return head + words.map(upper).join("");
}

/** The fields of a valid object. */
function fieldsOf(text: string): Field[] {
  const fields: Field[] = [];
  let at = behindSpace(text, behindSpace(text, 0) + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const behind = behindString(text, at);
    const colon = behindSpace(text, behind);
    const name = stringOf(text.slice(at, behind)) ?? "";
    const start = behindSpace(text, colon + 1);
    const end = behindValue(text, start);
    const raw = text.slice(start, end);
    fields.push({ name: name.includes("_") ? camel(name) : name, raw });
    at = behindSpace(text, behindSpace(text, end) + 1);
  }
  return fields;
}

/** The items of a valid list. */
function itemsOf(text: string): string[] {
  const items: string[] = [];
  let at = behindSpace(text, 1);
  while (at < text.length && text.charAt(at) !== "]") {
    const end = behindValue(text, at);
    items.push(text.slice(at, end));
    at = behindSpace(text, end);
    if (text.charAt(at) === ",") at = behindSpace(text, at + 1);
  }
  return items;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function behindSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}

/** Behind a string whose first quote is at `from`. */
function behindString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

/** Whether a number or a name ends here. */
function endsWord(unit: number): boolean {
  return isSpace(unit) || unit === 0x2c || unit === 0x5d || unit === 0x7d;
}

function behindValue(text: string, from: number): number {
  const begins = text.charCodeAt(from);
  if (begins === QUOTE) return behindString(text, from);
  if (begins !== 0x7b && begins !== 0x5b) {
    let at = from;
    while (at < text.length && !endsWord(text.charCodeAt(at))) at += 1;
    return at;
  }
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = behindString(text, at);
      continue;
    }
    at += 1;
    if (unit === 0x7b || unit === 0x5b) depth += 1;
    if (unit === 0x7d || unit === 0x5d) depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
