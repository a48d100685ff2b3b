import assert from "node:assert/strict";
import { test } from "node:test";

import { Slices } from "../src/data/slices.js";
import type { Sliced } from "../src/data/types.js";
import { Lanes } from "../src/pages/session/lanes.js";
import { Heights } from "../src/parts/heights.js";
import { axisTop } from "../src/parts/plot.js";
import { link, parse } from "../src/route.js";

test("offsets of rows follow from their heights", () => {
  const heights = new Heights(10);
  heights.resize(1_000);
  assert.equal(heights.total(), 10_000);
  assert.equal(heights.set(0, 35), 25);
  assert.equal(heights.set(0, 35), 0);
  assert.deepEqual([heights.top(0), heights.top(1), heights.top(2)], [0, 35, 45]);
  assert.deepEqual(
    [heights.at(0), heights.at(34), heights.at(35), heights.at(1e9)],
    [0, 0, 1, 999],
  );
  heights.resize(2);
  assert.equal(heights.total(), 45);
  heights.resize(3);
  assert.equal(heights.total(), 55);
});

test("ids with special characters survive in an address", () => {
  const id = "f-a/b?c#d &é";
  const { path, query } = parse(link(["sessions", id], { at: "7", q: "a&b", none: "" }));
  assert.deepEqual([...path], ["sessions", id]);
  assert.deepEqual(Object.fromEntries(query), { at: "7", q: "a&b" });
  assert.deepEqual([...parse("#/%E0%A4%A").path], ["%E0%A4%A"]);
});

test("only rows around the visible ones are kept", async () => {
  const requested: number[] = [];
  const slices = new Slices<number>(async (from, limit) => {
    requested.push(from);
    const data = Array.from({ length: Math.min(limit, 100_000 - from) }, (_, at) => from + at);
    return { data, from, total: 100_000, version: "1" };
  });
  for (let at = 0; at < 100_000; at += 700) {
    slices.setVisible(at, at + 40);
    await settled(() => slices.row(at) === at);
  }
  assert.ok(slices.size < 5_000, `${slices.size} rows are kept`);
  assert.equal(slices.row(0), undefined);
  slices.setVisible(99_990, 100_040);
  await settled(() => slices.row(99_999) === 99_999);
  assert.ok(requested.length < 400);
});

test("rows of another version are dropped", async () => {
  let version = "1";
  const slices = new Slices<string>(async (from): Promise<Sliced<string>> => {
    return { data: [`${version}:${from}`], from, total: 10, version };
  });
  slices.setVisible(0, 1);
  await settled(() => slices.row(0) === "1:0");
  version = "2";
  slices.setVisible(5, 6);
  await settled(() => slices.row(5) === "2:5");
  assert.equal(slices.row(0), undefined);
});

test("a child of the newest record stays in its lane", () => {
  const lanes = new Lanes();
  const table: readonly (readonly [number, number | null])[] = [
    [0, null],
    [1, 0],
    [2, 1],
    [3, 1],
    [4, 3],
    [5, 99],
  ];
  for (const [record, parent] of table) lanes.add(record, parent);
  assert.deepEqual(
    table.map((_, row) => lanes.lane(row)),
    [0, 0, 0, 1, 1, 1],
  );
  assert.deepEqual(lanes.open(2), [0, 1]);
  assert.deepEqual(lanes.open(4), [1]);
});

test("an axis ends at a round number", () => {
  assert.deepEqual(
    [0, 1, 3, 7, 40, 41, 999, Number.NaN].map(axisTop),
    [1, 1, 4, 10, 40, 50, 1_000, 1],
  );
});

async function settled(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) {
    if (holds()) return;
    await new Promise((done) => setImmediate(done));
  }
  assert.fail("the condition never became true");
}
