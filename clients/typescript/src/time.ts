/** Tells a session that time goes by, at the moments that matter to it and at no others. */

import type { Session } from "./session.js";

/** What is asked of the platform's clock. */
export interface ClockLike {
  now(): number;
  setTimer(run: () => void, milliseconds: number): unknown;
  clearTimer(timer: unknown): void;
}

/** Calls `tick` whenever the session's deadline has come. Returns how to stop that. */
export function keepTime(session: Session, clock: ClockLike = platform): () => void {
  let timer: unknown;
  let due: number | undefined;
  const plan = () => {
    const deadline = session.deadline();
    if (deadline === due) return;
    if (timer !== undefined) clock.clearTimer(timer);
    timer = undefined;
    due = deadline;
    if (deadline === undefined) return;
    timer = clock.setTimer(
      () => {
        timer = undefined;
        due = undefined;
        session.tick(clock.now());
        plan();
      },
      Math.min(Math.max(0, deadline - clock.now()), LONGEST),
    );
  };
  const unsubscribe = session.subscribe(plan);
  plan();
  return () => {
    unsubscribe();
    if (timer !== undefined) clock.clearTimer(timer);
  };
}

/** The longest time that timers take. */
const LONGEST = 2 ** 31 - 1;

declare function setTimeout(run: () => void, milliseconds: number): unknown;
declare function clearTimeout(timer: unknown): void;

const platform: ClockLike = {
  now: () => Date.now(),
  setTimer: (run, milliseconds) => setTimeout(run, milliseconds),
  clearTimer: (timer) => clearTimeout(timer),
};
