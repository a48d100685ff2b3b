// Messages that a host keeps in a form of its own: they are written in a wire format, repaired, and
// read back. What the repair does not touch is the same object again.

import { fix } from "foxwedge";

export function repairTranslated(items, { write, read, ...options }) {
  if (items.length === 0) return items;
  const written = items.map(write);
  const { messages } = fix(written, options);
  if (messages === written) return items;
  const originals = new Map(written.map((wire, index) => [wire, items[index]]));
  return messages.map((wire) => originals.get(wire) ?? read(wire));
}
