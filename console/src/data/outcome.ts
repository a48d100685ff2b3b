/** The outcome of a request as one label. A request passed only if its response is a success. */

import type { IconName } from "../parts/icon.js";
import type { Tone } from "../parts/badge.js";

/** The badge of a request. */
export interface Outcome {
  readonly tone: Tone;
  readonly icon: IconName;
  /** The name of an `action.*` text. */
  readonly word: string;
  /** The HTTP status, if the response is not a success. */
  readonly code: string;
}

const ACTIONS: Readonly<Record<string, readonly [Tone, IconName]>> = {
  none: ["rest", "check"],
  observed: ["warn", "search"],
  fixed: ["ok", "wrench"],
  rejected: ["bad", "slash"],
  failed: ["bad", "cross"],
};

/** All actions, for the filter. */
export const ALL_ACTIONS: readonly string[] = Object.keys(ACTIONS);

/** The badge to show for a request. */
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
