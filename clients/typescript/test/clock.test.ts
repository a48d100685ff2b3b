import assert from "node:assert/strict";
import { test } from "node:test";

import { Clock } from "../src/machine/clock.js";

test("a clock that jumps back stands still", () => {
  const clock = new Clock();
  clock.advance(1_000_000);
  const moment = clock.later(2_000);
  clock.advance(5);
  assert.equal(clock.hasPassed(moment), false);
  assert.equal(clock.tell(moment), 2_005);
  clock.advance(1_005);
  clock.advance(3);
  clock.advance(1_003);
  assert.equal(clock.hasPassed(moment), true);
});

test("what is no time is no news", () => {
  const clock = new Clock();
  clock.advance(100);
  for (const odd of [Number.NaN, Infinity, -Infinity]) clock.advance(odd);
  assert.equal(clock.tell(clock.later(5)), 105);
  clock.advance(-3);
  clock.advance(0.9);
  assert.equal(clock.tell(clock.later(5)), 5);
});
