/** All texts of the console, by key. Each file holds both languages of one part of the console. */

import { frameEn, frameZh } from "./frame.js";
import { gatewayEn, gatewayZh } from "./gateway.js";
import { refusedEn, refusedZh } from "./refused.js";
import { repairsEn, repairsZh } from "./repairs.js";
import { runsEn, runsZh } from "./runs.js";
import { sessionsEn, sessionsZh } from "./sessions.js";

/** English. */
export const en = {
  ...frameEn,
  ...sessionsEn,
  ...repairsEn,
  ...runsEn,
  ...gatewayEn,
  ...refusedEn,
} as const;

/** Simplified Chinese. */
export const zh: Readonly<Record<keyof typeof en, string>> = {
  ...frameZh,
  ...sessionsZh,
  ...repairsZh,
  ...runsZh,
  ...gatewayZh,
  ...refusedZh,
};
