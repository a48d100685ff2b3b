/** Settings of a session. */

/** The settings of a session's machine. */
export interface Settings {
  /**
   * How long events wait for earlier ones, in milliseconds: for the start of their run, for a
   * missing sequence number, for the end of a replaced run.
   */
  readonly wait: number;
  /**
   * Tools that ask a person. A person who takes over such a call answers elsewhere, so a denial,
   * or an error that is not the tool's own, is a hand-over and not a failure.
   */
  readonly interactive: readonly string[];
  /** Memory limits. */
  readonly limits: Limits;
}

/** Memory limits of a session. */
export interface Limits {
  /** The most events that wait at once. */
  readonly waiting: number;
  /** The most runs that are remembered. */
  readonly runs: number;
}

/** Settings, all optional. */
export interface SomeSettings {
  readonly wait?: number;
  readonly interactive?: readonly string[];
  readonly limits?: Partial<Limits>;
}

/** Completes settings with the defaults. */
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
