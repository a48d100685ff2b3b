/** What became of a request, in a word: it passed only if it was answered with a success. */

import type { IconName } from "../parts/icon.js";
import type { Tone } from "../parts/badge.js";

/** The badge of a request. */
export interface Outcome {
  readonly tone: Tone;
  readonly icon: IconName;
  /** Which word of `action.*`. */
  readonly word: string;
  /** The status, where it says more than the word. */
  readonly code: string;
}

const ACTIONS: Readonly<Record<string, readonly [Tone, IconName]>> = {
  none: ["rest", "check"],
  observed: ["warn", "search"],
  fixed: ["ok", "wrench"],
  rejected: ["bad", "slash"],
  failed: ["bad", "cross"],
};

/** Every action that can be asked for. */
export const ALL_ACTIONS: readonly string[] = Object.keys(ACTIONS);

/** What to show for a request. */
export function outcomeOf(row: { readonly action: string; readonly status: number }): Outcome {
  const { action, status } = row;
  const isSuccess = status >= 200 && status < 300;
  const code = isSuccess ? "" : String(status);
  if (!isSuccess && action !== "rejected") {
    return { tone: status < 500 ? "warn" : "bad", icon: "cross", word: "failed", code };
  }
  const [tone, icon] = ACTIONS[action] ?? (["rest", "unknown"] as const);
  return { tone, icon, word: action, code };
}
