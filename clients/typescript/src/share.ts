/** Structural sharing: unchanged parts keep their identity, for comparison by reference. */

/** The old value if it is equal; otherwise the new one, with equal parts from the old one. */
export function share<T>(old: unknown, next: T): T {
  if (Object.is(old, next)) return next;
  if (Array.isArray(old) && Array.isArray(next)) {
    const items = next.map((item, at) => share<unknown>(old[at], item));
    const same = old.length === items.length && items.every((item, at) => Object.is(item, old[at]));
    return (same ? old : items) as T;
  }
  if (!isPlain(old) || !isPlain(next)) return next;
  const names = Object.keys(next);
  let same = names.length === Object.keys(old).length;
  const merged: Record<string, unknown> = {};
  for (const name of names) {
    const value = share<unknown>(old[name], next[name]);
    same &&= Object.hasOwn(old, name) && Object.is(value, old[name]);
    Object.defineProperty(merged, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return (same ? old : merged) as T;
}

/** Whether two values are deeply equal. */
export function isSame(one: unknown, other: unknown): boolean {
  return Object.is(share(one, other), one);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
