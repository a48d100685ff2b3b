/** A JSON object whose field values are kept as raw JSON until they are read. */

import { first, wellFormed } from "../text.js";
import { Json } from "../value.js";

/** How many characters of an unknown value are kept for the operator. */
const MAX_UNKNOWN_CHARACTERS = 200;

/** The first unknown value in an event. */
export interface UnknownValue {
  word?: string;
}

/**
 * The fields of an object. A `null` field counts as missing; of duplicate fields the last one
 * counts. Names in snake_case are converted to camelCase.
 */
export class EventObject {
  /** All names, including those of `null` fields. */
  readonly #names = new Set<string>();
  readonly #values = new Map<string, string>();
  readonly #unknown: UnknownValue;

  /** Splits an object into fields. The text must be a valid JSON object. */
  constructor(text: string, unknown: UnknownValue) {
    this.#unknown = unknown;
    for (const { name, raw } of fieldsOf(text)) {
      this.#names.add(name);
      if (raw !== "null") this.#values.set(name, raw);
    }
  }

  /** Notes an unknown value for the operator. Only the first one is kept. */
  noteUnknown(word: string): void {
    this.#unknown.word ??= first(word, MAX_UNKNOWN_CHARACTERS);
  }

  /** Whether there is a field with this name, even if it is `null`. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether there are no fields other than these. */
  hasOnly(names: readonly string[]): boolean {
    return [...this.#names].every((name) => names.includes(name));
  }

  /** The raw value of the first of these names that has one. */
  raw(...names: string[]): string | undefined {
    return this.#find(names)?.raw;
  }

  /** A value that is not interpreted. */
  json(...names: string[]): Json | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : Json.known(raw);
  }

  /** A string; undefined for any other type. */
  string(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : stringOf(raw);
  }

  /** Text for people: a string, the text of a list of blocks, or the JSON itself. */
  text(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : textOf(raw);
  }

  /**
   * An enum value; undefined if it is empty. A value that is not a string is returned as raw JSON,
   * so that it is unknown like any other.
   */
  word(...names: string[]): string | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : (stringOf(raw) ?? raw) || undefined;
  }

  /** The first usable id of these names: a non-empty string, or a number. */
  id(...names: string[]): string | undefined {
    for (const name of names) {
      const raw = this.raw(name);
      if (raw === undefined) continue;
      const text = stringOf(raw) ?? (/^[-0-9]/.test(raw) ? raw : "");
      if (text !== "") return text;
    }
    return undefined;
  }

  /** A non-negative integer, as a number or a string. Anything else is noted as unknown. */
  number(...names: string[]): number | undefined {
    const field = this.#find(names);
    if (field === undefined) return undefined;
    const number = wholeNumber(stringOf(field.raw) ?? field.raw);
    if (number === undefined) this.noteUnknown(`${field.name} ${field.raw}`);
    return number;
  }

  /** A boolean. Anything else is noted as unknown and counts as missing. */
  flag(...names: string[]): boolean | undefined {
    const field = this.#find(names);
    if (field === undefined) return undefined;
    if (field.raw === "true") return true;
    if (field.raw === "false") return false;
    this.noteUnknown(`${field.name} ${field.raw}`);
    return undefined;
  }

  /** A nested object. */
  object(...names: string[]): EventObject | undefined {
    const raw = this.raw(...names);
    return raw === undefined ? undefined : this.parseNested(raw);
  }

  /** Splits a nested value into fields; undefined if it is not an object. */
  parseNested(raw: string): EventObject | undefined {
    return raw.startsWith("{") ? new EventObject(raw, this.#unknown) : undefined;
  }

  /** The raw items of a list; undefined if it is not a list. */
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

/** Text for people from a valid value. */
export function textOf(raw: string): string {
  const text = stringOf(raw);
  if (text !== undefined) return text;
  return (raw.startsWith("[") ? Json.known(raw).plain() : "") || raw;
}

/** Decodes a valid JSON string; undefined if the value is not a string. */
export function stringOf(raw: string): string | undefined {
  if (!raw.startsWith('"')) return undefined;
  // A lone surrogate, where a stream was cut, becomes U+FFFD.
  return wellFormed(raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1));
}

interface Field {
  readonly name: string;
  readonly raw: string;
}

function wholeNumber(text: string): number | undefined {
  if (/^\+?[0-9]+$/.test(text)) {
    const digits = text.replace(/^\+?0*/, "");
    if (digits.length < 20 || (digits.length === 20 && digits <= "18446744073709551615")) {
      return Number(digits);
    }
  }
  // `7.0` and `1e3` are integers, too. Above 2^53 a number cannot have a fraction.
  if (!/^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?$/i.test(text)) return undefined;
  const number = Number(text);
  const isWhole = Number.isInteger(number) && number >= 0 && number <= 2 ** 53;
  return isWhole ? number + 0 : undefined;
}

/** Converts `tool_call_id` to `toolCallId`. */
function toCamelCase(name: string): string {
  const [head = "", ...rest] = name.split("_");
  const upper = (word: string) => word.replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return head + rest.map(upper).join("");
}

/** The fields of a valid object. */
function fieldsOf(text: string): Field[] {
  const fields: Field[] = [];
  let at = afterSpace(text, afterSpace(text, 0) + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = afterString(text, at);
    const colon = afterSpace(text, nameEnd);
    const name = stringOf(text.slice(at, nameEnd)) ?? "";
    const start = afterSpace(text, colon + 1);
    const end = afterValue(text, start);
    const raw = text.slice(start, end);
    fields.push({ name: name.includes("_") ? toCamelCase(name) : name, raw });
    at = afterSpace(text, afterSpace(text, end) + 1);
  }
  return fields;
}

/** The items of a valid list. */
function itemsOf(text: string): string[] {
  const items: string[] = [];
  let at = afterSpace(text, 1);
  while (at < text.length && text.charAt(at) !== "]") {
    const end = afterValue(text, at);
    items.push(text.slice(at, end));
    at = afterSpace(text, end);
    if (text.charAt(at) === ",") at = afterSpace(text, at + 1);
  }
  return items;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function afterSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}

/** The position after a string whose opening quote is at `from`. */
function afterString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

/** Whether a number or literal ends here. */
function endsWord(unit: number): boolean {
  return isSpace(unit) || unit === 0x2c || unit === 0x5d || unit === 0x7d;
}

function afterValue(text: string, from: number): number {
  const opening = text.charCodeAt(from);
  if (opening === QUOTE) return afterString(text, from);
  if (opening !== 0x7b && opening !== 0x5b) {
    let at = from;
    while (at < text.length && !endsWord(text.charCodeAt(at))) at += 1;
    return at;
  }
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = afterString(text, at);
      continue;
    }
    at += 1;
    if (unit === 0x7b || unit === 0x5b) depth += 1;
    if (unit === 0x7d || unit === 0x5d) depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
