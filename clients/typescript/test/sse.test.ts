import assert from "node:assert/strict";
import { test } from "node:test";

import { type ServerEvent, ServerEvents } from "../src/sse.js";

const STREAM =
  '\ufeff: hello\r\nretry: 1500\r\n\r\nid: 1.1\ndata: {"a":1}\n\nid: 2.1\rdata: one\rdata:two\r\r' +
  "event: note\ndata\n\nid: 3.1\n\ndata: grüße 😀\n\nid: bad\0\ndata: x\n\ndata: cut off";

const EVENTS: ServerEvent[] = [
  { id: "1.1", event: "", data: '{"a":1}' },
  { id: "2.1", event: "", data: "one\ntwo" },
  { id: "2.1", event: "note", data: "" },
  { id: "3.1", event: "", data: "grüße 😀" },
  { id: "3.1", event: "", data: "x" },
];

test("a stream gives the same events in chunks of any length", () => {
  for (let length = 1; length <= STREAM.length; length += 1) {
    const stream = new ServerEvents("", 1_000);
    const events: ServerEvent[] = [];
    for (let at = 0; at < STREAM.length; at += length) {
      events.push(...stream.push(STREAM.slice(at, at + length)));
    }
    assert.deepEqual(events, EVENTS, `chunks of ${length}`);
    assert.equal(stream.lastId, "3.1");
    assert.equal(stream.retry, 1500);
  }
});

test("an event that is too long is an error, in one line or in many", () => {
  const line = new ServerEvents("", 100);
  assert.throws(() => line.push(`data: ${"x".repeat(200)}`), /too long/);
  const lines = new ServerEvents("", 100);
  assert.throws(() => {
    for (let count = 0; count < 200; count += 1) lines.push("data: x\n");
  }, /too long/);
});

test("a long line in small chunks is searched once", () => {
  const stream = new ServerEvents("", 10_000_000);
  for (let count = 0; count < 20_000; count += 1) stream.push("data data ");
  assert.equal(stream.push("\n\n").length, 0);
});
