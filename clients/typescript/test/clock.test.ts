import assert from "node:assert/strict";
import { test } from "node:test";

import { MachineClock } from "../src/machine/clock.js";

test("the clock stands still when the caller's clock jumps back", () => {
  const clock = new MachineClock();
  clock.advance(1_000_000);
  const moment = clock.later(2_000);
  clock.advance(5);
  assert.equal(clock.hasPassed(moment), false);
  assert.equal(clock.toCallerTime(moment), 2_005);
  clock.advance(1_005);
  clock.advance(3);
  clock.advance(1_003);
  assert.equal(clock.hasPassed(moment), true);
});

test("values that are not finite are ignored", () => {
  const clock = new MachineClock();
  clock.advance(100);
  for (const odd of [Number.NaN, Infinity, -Infinity]) clock.advance(odd);
  assert.equal(clock.toCallerTime(clock.later(5)), 105);
  clock.advance(-3);
  clock.advance(0.9);
  assert.equal(clock.toCallerTime(clock.later(5)), 5);
});
