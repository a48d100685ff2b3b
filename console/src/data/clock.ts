/** The current time, for relative times. Updated once a second while the page is visible. */

import { signal } from "@preact/signals";

export const now = signal(Date.now());

/** Starts the updates. */
export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1_000);
}
