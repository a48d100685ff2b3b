/** Keeps what did not change: whoever compares by reference sees only what is new. */

/** The old value where it says the same; else the new one, with the old parts that say the same. */
export function share<T>(old: unknown, fresh: T): T {
  if (Object.is(old, fresh)) return fresh;
  if (Array.isArray(old) && Array.isArray(fresh)) {
    const items = fresh.map((item, at) => share<unknown>(old[at], item));
    const same = old.length === items.length && items.every((item, at) => Object.is(item, old[at]));
    return (same ? old : items) as T;
  }
  if (!isPlain(old) || !isPlain(fresh)) return fresh;
  const names = Object.keys(fresh);
  let same = names.length === Object.keys(old).length;
  const kept: Record<string, unknown> = {};
  for (const name of names) {
    const value = share<unknown>(old[name], fresh[name]);
    same &&= Object.hasOwn(old, name) && Object.is(value, old[name]);
    Object.defineProperty(kept, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return (same ? old : kept) as T;
}

/** Whether two values say the same. */
export function isSame(one: unknown, other: unknown): boolean {
  return Object.is(share(one, other), one);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
