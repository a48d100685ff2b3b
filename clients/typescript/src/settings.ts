/** What a machine may be told before it starts. */

/** How a session's machine behaves. */
export interface Settings {
  /**
   * How long events wait for what has to come before them, in milliseconds: for the start of
   * their run, for a missing sequence number, for the end of a run that has been replaced.
   */
  readonly wait: number;
  /**
   * Tools that ask a person. A person who takes one over answers elsewhere, so its denial, and any
   * error but one of the tool itself, is a hand-over and not a failure.
   */
  readonly interactive: readonly string[];
  /** How much may wait. */
  readonly limits: Limits;
}

/** What is kept in memory for events that cannot be told yet. */
export interface Limits {
  /** Events that wait at once, in a session. */
  readonly waiting: number;
  /** Runs of a session that are remembered after their end. */
  readonly runs: number;
}

/** Settings of which some may be left out. */
export interface SomeSettings {
  readonly wait?: number;
  readonly interactive?: readonly string[];
  readonly limits?: Partial<Limits>;
}

/** All settings; those that were left out have their usual values. */
export function complete(some: SomeSettings = {}): Settings {
  return {
    wait: some.wait ?? 2_000,
    interactive: some.interactive ?? [
      "AskUserQuestion",
      "ask_user_question",
      "ask_followup_question",
      "ExitPlanMode",
      "exit_plan_mode",
    ],
    limits: { waiting: some.limits?.waiting ?? 10_000, runs: some.limits?.runs ?? 16 },
  };
}
