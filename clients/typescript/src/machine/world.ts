/** What a run needs while it applies an event. */

import type { Effect } from "../effect.js";
import type { Settings } from "../settings.js";
import type { MachineClock } from "./clock.js";
import type { SessionTasks } from "./tasks.js";

export interface RunContext {
  readonly settings: Settings;
  readonly clock: MachineClock;
  readonly tasks: SessionTasks;
  readonly effects: Effect[];
}
