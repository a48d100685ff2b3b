/**
 * The token that opens the server. `boot.js` takes it out of the address before anything else.
 *
 * A link never replaces a token that works: what it brings is used if there is none, or if the server
 * refuses the one that is there.
 */

import { signal } from "@preact/signals";

const NAME = "foxwedge.token";
const OFFERED = "foxwedge.offered";

/** The token; empty if nobody gave one. */
export const token = signal(kept());

/** Whether the server wants another token than the one we have. */
export const isLocked = signal(false);

/** What a link brought while there was a token. */
let offered = taken();

/** A link brings a token. */
export function offer(given: string): void {
  if (given === "" || given === token.peek()) return;
  if (token.peek() === "" || isLocked.peek()) unlock(given);
  else offered = given;
}

/** The server takes the token that we have. */
export function isAccepted(): void {
  offered = "";
}

/** The server wants another token. */
export function isRefused(): void {
  isLocked.value = true;
  if (offered === "") return;
  const next = offered;
  offered = "";
  // The page is drawn locked first, and begins anew with the other token.
  setTimeout(() => unlock(next), 0);
}

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

function taken(): string {
  try {
    const given = sessionStorage.getItem(OFFERED) ?? "";
    sessionStorage.removeItem(OFFERED);
    return given;
  } catch {
    return "";
  }
}

function kept(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}
