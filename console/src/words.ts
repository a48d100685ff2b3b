/** The texts of the console in the chosen language, and how numbers and times are formatted. */

import { language } from "./settings.js";
import { en, zh } from "./words/tables.js";

export type TextKey = keyof typeof en;

const TABLES: Readonly<Record<"en" | "zh", Readonly<Record<TextKey, string>>>> = { en, zh };

/** The text for a key. `{name}` in it is replaced by the value of that name. */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  const text = TABLES[language.value][key];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? count(value) : value;
  });
}

/** The text for the key `prefix.name`. Returns the name itself if there is no such key. */
export function labelOf(prefix: string, name: string): string {
  const table: Readonly<Record<string, string>> = TABLES[language.value];
  return table[`${prefix}.${name}`] ?? name;
}

/** The texts of error codes. */
export function refusals(): Readonly<Record<string, string>> {
  const all = Object.entries(TABLES[language.value]);
  const found = all.filter(([key]) => key.startsWith("refused."));
  return Object.fromEntries(found.map(([key, text]) => [key.slice("refused.".length), text]));
}

/** Picks the singular or the plural text for a number. */
export function plural(one: TextKey, other: TextKey, n: number): string {
  return t(n === 1 ? one : other, { n });
}

const locale = () => (language.value === "zh" ? "zh-CN" : "en");

/** A number, such as 12,345. */
export function count(n: number): string {
  return new Intl.NumberFormat(locale()).format(n);
}

/** A size, such as 48.1 kB. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  let value = n;
  while (value >= 1_000 && at < units.length - 1) {
    value /= 1_000;
    at += 1;
  }
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at] ?? ""}`;
}

/** A duration, such as 340 ms, 1.2 s or 3 min 20 s. */
export function span(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A relative time, such as "3m ago". */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000));
  if (seconds < 5) return t("time.now");
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "always", style: "narrow" });
  if (seconds < 60) return format.format(-seconds, "second");
  if (seconds < 3_600) return format.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3_600), "hour");
  return format.format(-Math.floor(seconds / 86_400), "day");
}

/** The time of day, with the date unless it is today. */
export function clock(at: number): string {
  const date = new Date(at);
  const today = new Date().toDateString() === date.toDateString();
  const day: Intl.DateTimeFormatOptions = today ? {} : { month: "short", day: "numeric" };
  const time: Intl.DateTimeFormatOptions = {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  };
  return new Intl.DateTimeFormat(locale(), { ...day, ...time }).format(date);
}

/** The full date and time. */
export function moment(at: number): string {
  return new Intl.DateTimeFormat(locale(), {
    dateStyle: "medium",
    timeStyle: "medium",
    hourCycle: "h23",
  }).format(new Date(at));
}
