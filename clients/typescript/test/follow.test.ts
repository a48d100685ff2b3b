import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Followed,
  type FollowOptions,
  type ReplyLike,
  createSession,
  follow,
} from "../src/index.js";

const URL = "http://agent.test/v1/runs/run-a/events";

const LOG = [
  { type: "run-started", runId: "run-a", epoch: 1, seq: 1 },
  { type: "text", runId: "run-a", seq: 2, messageId: "m1", delta: "Hello " },
  { type: "text", runId: "run-a", seq: 3, messageId: "m1", delta: "world 😀" },
  { type: "run-ended", runId: "run-a", seq: 4, reason: "completed" },
];

/** A fake server with one response per request. */
function server(responses: (() => ReplyLike)[]) {
  const requests: { url: string; lastEventId: string | undefined }[] = [];
  const waited: number[] = [];
  const options: FollowOptions = {
    now: () => 0,
    random: () => 1,
    wait: async (milliseconds) => void waited.push(milliseconds),
    fetch: async (url, { headers }) => {
      requests.push({ url, lastEventId: headers["last-event-id"] });
      const response = responses.shift();
      if (response === undefined) throw new Error("no response is left");
      return response();
    },
  };
  return { requests, waited, options };
}

/** A response with these events of the log, in chunks of a few bytes. */
function stream(first: number, last: number): () => ReplyLike {
  return () => {
    const events = LOG.slice(first - 1, last);
    const text = events.map((event) => `id: ${event.seq}.1\ndata: ${JSON.stringify(event)}\n\n`);
    return bytes(new TextEncoder().encode(text.join("")));
  };
}

function bytes(all: Uint8Array): ReplyLike {
  let at = 0;
  const read = async () => {
    const value = all.slice(at, (at += 5));
    return value.length === 0 ? { done: true } : { done: false, value };
  };
  return {
    ok: true,
    status: 200,
    body: { getReader: () => ({ read, cancel: async () => undefined }) },
  };
}

function status(status: number): () => ReplyLike {
  return () => ({ ok: status < 300, status, body: null });
}

async function all(following: AsyncIterable<Followed>): Promise<Followed[]> {
  const happened: Followed[] = [];
  for await (const one of following) happened.push(one);
  return happened;
}

function kinds(happened: Followed[]): string[] {
  return happened.map((one) => {
    switch (one.type) {
      case "event":
        return one.id;
      case "disconnected":
        return `disconnected for ${one.retryIn}: ${one.why}`;
      case "refused":
        return `refused with ${one.status}`;
      case "connected":
      case "ended":
        return one.type;
    }
  });
}

test("a run is followed to its end", async () => {
  const { requests, options } = server([stream(1, 4)]);
  const session = createSession();
  const happened = await all(follow(URL, { ...options, session }));
  assert.deepEqual(kinds(happened), ["connected", "1.1", "2.1", "3.1", "4.1", "ended"]);
  assert.deepEqual(requests, [{ url: `${URL}?format=jsonl`, lastEventId: undefined }]);
  assert.equal(session.truth().runs[0]?.text, "Hello world 😀");
});

test("a lost connection is reported, and the stream resumes after the last event", async () => {
  const { requests, waited, options } = server([stream(1, 2), status(503), stream(3, 4)]);
  const session = createSession();
  const happened = await all(follow(`${URL}?x=1#top`, { ...options, session, lastEventId: "0.1" }));
  assert.deepEqual(kinds(happened), [
    "connected",
    "1.1",
    "2.1",
    "disconnected for 500: the stream ended before the run did",
    "disconnected for 1000: the server responded with 503",
    "connected",
    "3.1",
    "4.1",
    "ended",
  ]);
  const url = `${URL}?x=1&format=jsonl#top`;
  assert.deepEqual(requests, [
    { url, lastEventId: "0.1" },
    { url, lastEventId: "2.1" },
    { url, lastEventId: "2.1" },
  ]);
  assert.deepEqual(waited, [500, 1000]);
  assert.equal(session.truth().runs[0]?.text, "Hello world 😀");
});

test("repeated events change nothing", async () => {
  const { options } = server([stream(1, 3), stream(1, 4)]);
  const session = createSession();
  await all(follow(URL, { ...options, session }));
  assert.equal(session.truth().runs[0]?.text, "Hello world 😀");
  assert.deepEqual(session.snapshot().runs[0]?.counts, {
    accepted: 4,
    repeated: 3,
    late: 0,
    missing: 0,
  });
});

test("a status that a retry would not change ends the stream", async () => {
  for (const [code, expected] of [
    [404, "refused with 404"],
    [401, "refused with 401"],
    [204, "ended"],
  ] as const) {
    const { options, waited } = server([status(code)]);
    assert.deepEqual(kinds(await all(follow(URL, options))), [expected]);
    assert.deepEqual(waited, []);
  }
});

test("retry delays grow up to the maximum, and honor the server's delay", async () => {
  const busy = () => bytes(new TextEncoder().encode("retry: 3000\n\n"));
  const { options, waited } = server([
    status(500),
    status(429),
    busy,
    status(500),
    status(500),
    stream(1, 4),
  ]);
  const backOff = { first: 100, most: 2_500 };
  await all(follow(URL, { ...options, backOff }));
  assert.deepEqual(waited, [100, 200, 2_500, 800, 1_600]);
});

test("leaving the loop releases the stream", async () => {
  let cancelled = 0;
  const { options } = server([
    () => {
      const reply = stream(1, 4)();
      const reader = reply.body?.getReader();
      const read = async () => (await reader?.read()) ?? { done: true };
      const cancel = async () => void (cancelled += 1);
      return { ...reply, body: { getReader: () => ({ read, cancel }) } };
    },
  ]);
  for await (const happened of follow(URL, options)) if (happened.type === "event") break;
  assert.equal(cancelled, 1);
});

test("a signal ends the stream, also while it waits for a retry", async () => {
  const controller = new AbortController();
  const { options } = server([status(500)]);
  const wait = async () => controller.abort();
  const happened = await all(follow(URL, { ...options, wait, signal: controller.signal }));
  assert.deepEqual(kinds(happened), ["disconnected for 500: the server responded with 500"]);
  assert.deepEqual(await all(follow(URL, { ...options, signal: controller.signal })), []);
});

test("the platform's fetch has a matching type", () => {
  const options: FollowOptions = { fetch, signal: new AbortController().signal };
  assert.equal(typeof options.fetch, "function");
});
