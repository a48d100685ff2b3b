/** The time, for those who show how long ago something was. Moves once a second while looked at. */

import { signal } from "@preact/signals";

export const now = signal(Date.now());

/** Begins to move. */
export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1_000);
}
