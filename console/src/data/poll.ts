/** Something that the server is asked for again and again, for as long as somebody looks at it. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

/** What is known of it. The last good value stays while a newer one cannot be had. */
export interface Known<T> {
  readonly value?: T;
  /** When the value was read. */
  readonly at?: number;
  /** Why the last attempt brought nothing. */
  readonly error?: Error;
}

export interface Poll<T> {
  readonly known: ReadonlySignal<Known<T>>;
  /** Asks at once. */
  readonly again: () => void;
}

/** Loads while the component is there; `every` 0 loads once. `key` names what is loaded. */
export function usePoll<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  every: number,
): Poll<T> {
  const poll = useMemo(() => {
    const known = signal<Known<T>>({});
    let run = () => {};
    return { known, again: () => run(), set: (next: () => void) => (run = next) };
  }, [key]);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let busy = false;
    const step = async () => {
      clearTimeout(timer);
      if (busy || abort.signal.aborted) return;
      busy = true;
      try {
        const value = await load(abort.signal);
        failures = 0;
        if (!abort.signal.aborted) poll.known.value = { value, at: Date.now() };
      } catch (error) {
        failures += 1;
        if (!abort.signal.aborted) {
          poll.known.value = { ...poll.known.peek(), error: error as Error };
        }
      }
      busy = false;
      plan();
    };
    const plan = () => {
      if (abort.signal.aborted || document.hidden) return;
      const wait = failures > 0 ? Math.min(30_000, 1_000 * 2 ** Math.min(failures, 5)) : every;
      if (wait > 0) timer = setTimeout(() => void step(), wait);
    };
    const seen = () => {
      if (!document.hidden && every > 0) void step();
    };
    document.addEventListener("visibilitychange", seen);
    poll.set(() => void step());
    void step();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [poll]);
  return poll;
}
