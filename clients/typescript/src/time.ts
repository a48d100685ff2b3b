/** Calls `tick` of a session at its deadlines. */

import type { Session } from "./session.js";

/** The parts of the platform's clock that are used. */
export interface ClockLike {
  now(): number;
  setTimer(run: () => void, milliseconds: number): unknown;
  clearTimer(timer: unknown): void;
}

/** Calls `tick` whenever a deadline of the session has passed. Returns a function to stop. */
export function keepTime(session: Session, clock: ClockLike = platform): () => void {
  let timer: unknown;
  let scheduledFor: number | undefined;
  const schedule = () => {
    const deadline = session.deadline();
    if (deadline === scheduledFor) return;
    if (timer !== undefined) clock.clearTimer(timer);
    timer = undefined;
    scheduledFor = deadline;
    if (deadline === undefined) return;
    timer = clock.setTimer(
      () => {
        timer = undefined;
        scheduledFor = undefined;
        session.tick(clock.now());
        schedule();
      },
      Math.min(Math.max(0, deadline - clock.now()), MAX_DELAY_MS),
    );
  };
  const unsubscribe = session.subscribe(schedule);
  schedule();
  return () => {
    unsubscribe();
    if (timer !== undefined) clock.clearTimer(timer);
  };
}

/** The longest delay that timers support. */
const MAX_DELAY_MS = 2 ** 31 - 1;

declare function setTimeout(run: () => void, milliseconds: number): unknown;
declare function clearTimeout(timer: unknown): void;

const platform: ClockLike = {
  now: () => Date.now(),
  setTimer: (run, milliseconds) => setTimeout(run, milliseconds),
  clearTimer: (timer) => clearTimeout(timer),
};
