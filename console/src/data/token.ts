/** The token that opens the server. `boot.js` takes it out of the address before anything else. */

import { signal } from "@preact/signals";

const NAME = "foxwedge.token";

/** The token; empty if nobody gave one. */
export const token = signal(kept());

/** Whether the server wants another token than the one we have. */
export const isLocked = signal(false);

/** Takes a token that somebody typed. */
export function unlock(given: string): void {
  token.value = given.trim();
  isLocked.value = false;
  try {
    sessionStorage.setItem(NAME, token.value);
  } catch {
    // It holds until the page is closed.
  }
}

/** What is sent with every request. */
export function headers(): Record<string, string> {
  return token.peek() === "" ? {} : { authorization: `Bearer ${token.peek()}` };
}

function kept(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}
