/** Whether the window is as narrow as a phone, where rows have two lines. */

import { signal } from "@preact/signals";

export const isNarrow = signal(false);

if (typeof matchMedia !== "undefined") {
  const query = matchMedia("(max-width: 800px)");
  isNarrow.value = query.matches;
  query.addEventListener("change", () => (isNarrow.value = query.matches));
}
