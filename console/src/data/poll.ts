/** Polls the server while a component is mounted and the page is visible. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { language } from "../settings.js";

/** The state of a poll. The last good value stays while newer requests fail. */
export interface PollState<T> {
  readonly value?: T;
  /** When the value was read. */
  readonly at?: number;
  /** Why the last attempt failed. */
  readonly error?: Error;
}

export interface Poll<T> {
  readonly known: ReadonlySignal<PollState<T>>;
  /** Polls immediately. */
  readonly refresh: () => void;
}

/**
 * Polls every `every` milliseconds while mounted; 0 loads once. `key` identifies the data. Texts of the
 * server are loaded again if the language changes.
 */
export function usePoll<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  every: number,
): Poll<T> {
  const spoken = language.value;
  const poll = useMemo(() => {
    const known = signal<PollState<T>>({});
    let run = () => {};
    return { known, refresh: () => run(), set: (next: () => void) => (run = next) };
  }, [key, spoken]);
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
      schedule();
    };
    const schedule = () => {
      if (abort.signal.aborted || document.hidden) return;
      const wait = failures > 0 ? Math.min(30_000, 1_000 * 2 ** Math.min(failures, 5)) : every;
      if (wait > 0) timer = setTimeout(() => void step(), wait);
    };
    const onVisibility = () => {
      if (!document.hidden && every > 0) void step();
    };
    document.addEventListener("visibilitychange", onVisibility);
    poll.set(() => void step());
    void step();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [poll]);
  return poll;
}
