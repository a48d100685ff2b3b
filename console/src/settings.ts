/** What the reader chose: theme and language. Kept in the browser, and nowhere else. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh";

export const theme = signal<Theme>(oneOf(["light", "dark"], kept("theme")) ?? "system");
export const language = signal<Language>(oneOf(["en", "zh"], kept("language")) ?? usual());

/** Applies what was chosen, now and whenever it changes. */
export function applySettings(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === "system") delete dataset.theme;
    else dataset.theme = theme.value;
    keep("theme", theme.value === "system" ? undefined : theme.value);
  });
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
  });
}

/** Chooses a language, and remembers that it was chosen. */
export function choose(next: Language): void {
  language.value = next;
  keep("language", next);
}

function usual(): Language {
  return typeof navigator !== "undefined" && /^zh\b/i.test(navigator.language) ? "zh" : "en";
}

function oneOf<T extends string>(words: readonly T[], word: string | null): T | undefined {
  return words.find((one) => one === word);
}

function kept(name: string): string | null {
  try {
    return localStorage.getItem(`foxwedge.${name}`);
  } catch {
    // A browser may forbid it; then everything is as usual.
    return null;
  }
}

function keep(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`foxwedge.${name}`);
    else localStorage.setItem(`foxwedge.${name}`, value);
  } catch {
    // It holds until the page is closed.
  }
}
