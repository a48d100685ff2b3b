/** The user's settings: theme and language. Stored only in the browser. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type Language = "en" | "zh";

export const theme = signal<Theme>(oneOf(["light", "dark"], stored("theme")) ?? "system");
export const language = signal<Language>(
  oneOf(["en", "zh"], stored("language")) ?? defaultLanguage(),
);

/** Applies the settings now and whenever they change. */
export function applySettings(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === "system") delete dataset.theme;
    else dataset.theme = theme.value;
    store("theme", theme.value === "system" ? undefined : theme.value);
  });
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
  });
}

/** Sets the language and stores the choice. */
export function setLanguage(next: Language): void {
  language.value = next;
  store("language", next);
}

function defaultLanguage(): Language {
  return typeof navigator !== "undefined" && /^zh\b/i.test(navigator.language) ? "zh" : "en";
}

function oneOf<T extends string>(values: readonly T[], value: string | null): T | undefined {
  return values.find((one) => one === value);
}

function stored(name: string): string | null {
  try {
    return localStorage.getItem(`foxwedge.${name}`);
  } catch {
    // The browser may forbid storage; then the defaults apply.
    return null;
  }
}

function store(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`foxwedge.${name}`);
    else localStorage.setItem(`foxwedge.${name}`, value);
  } catch {
    // Storage is forbidden: the setting lasts until the page is closed.
  }
}
