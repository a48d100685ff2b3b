/** What a run sees of its surroundings while it works. */

import type { Effect } from "../effect.js";
import type { Settings } from "../settings.js";
import type { Clock } from "./clock.js";
import type { Tasks } from "./tasks.js";

export interface World {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly effects: Effect[];
}
