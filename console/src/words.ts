/** Everything the page says, in the language of the reader. */

import { language } from "./settings.js";
import { en } from "./words/en.js";
import { zh } from "./words/zh.js";

export type Word = keyof typeof en;

const TABLES: Readonly<Record<"en" | "zh", Readonly<Record<Word, string>>>> = { en, zh };

/** A sentence; `{n}` in it is the value of that name. */
export function t(word: Word, values: Readonly<Record<string, string | number>> = {}): string {
  const text = TABLES[language.value][word];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? count(value) : value;
  });
}

/** A sentence whose name is put together; what nobody has a sentence for is told as it is. */
export function maybe(prefix: string, name: string): string {
  const table: Readonly<Record<string, string>> = TABLES[language.value];
  return table[`${prefix}.${name}`] ?? name;
}

/** One or many: picks the sentence that fits the number. */
export function many(one: Word, other: Word, n: number): string {
  return t(n === 1 ? one : other, { n });
}

const locale = () => (language.value === "zh" ? "zh-CN" : "en");

/** 12,345. */
export function count(n: number): string {
  return new Intl.NumberFormat(locale()).format(n);
}

/** 48.1 kB. */
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

/** 340 ms, 1.2 s, 3 min 20 s. */
export function span(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Three minutes ago. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000));
  if (seconds < 5) return t("time.now");
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "always", style: "narrow" });
  if (seconds < 60) return format.format(-seconds, "second");
  if (seconds < 3_600) return format.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3_600), "hour");
  return format.format(-Math.floor(seconds / 86_400), "day");
}

/** The time of the day, for today; else with the date. */
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

/** Date and time, in full. */
export function moment(at: number): string {
  return new Intl.DateTimeFormat(locale(), {
    dateStyle: "medium",
    timeStyle: "medium",
    hourCycle: "h23",
  }).format(new Date(at));
}
