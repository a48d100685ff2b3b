import assert from "node:assert/strict";
import { test } from "node:test";

import { Chat, type ChatFetch, type ChatRequest } from "../src/chat/index.js";

const encoder = new TextEncoder();

/** A body that sends these texts, and then stays open until it is canceled. */
function body(texts: readonly string[], isOver: boolean) {
  const rest = [...texts];
  let cancel = () => {};
  const closed = new Promise<void>((done) => (cancel = done));
  return {
    getReader: () => ({
      read: async () => {
        const text = rest.shift();
        if (text !== undefined) return { done: false, value: encoder.encode(text) };
        if (!isOver) await closed;
        return { done: true };
      },
      cancel: async () => cancel(),
    }),
  };
}

/** A gateway with one model. `events` are the events of its run. */
function gateway(events: readonly Record<string, unknown>[], words: readonly string[]) {
  const requests: (ChatRequest & { readonly url: string })[] = [];
  const lines = events.map((event, at) => {
    const line = JSON.stringify({ runId: "r1", epoch: 1, seq: at + 1, ...event });
    return `id: ${at + 1}.1\ndata: ${line}\n\n`;
  });
  const isEnded = events.at(-1)?.type === "run-ended";
  const reply = (sent: ReturnType<typeof body> | null, value: unknown = {}) => ({
    ok: true,
    status: 200,
    headers: { get: (name: string) => (name === "x-foxwedge-run" ? "r1" : null) },
    body: sent,
    json: async () => value,
  });
  const answer: ChatFetch = async (url, init) => {
    requests.push({ ...init, url });
    if (url.endsWith("/completions")) {
      const chunks = words.map(
        (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`,
      );
      return reply(body(chunks, true));
    }
    if (url.includes("/events")) {
      const from = Number(init.headers["last-event-id"]?.split(".")[0] ?? 0);
      return reply(body(lines.slice(from), isEnded));
    }
    return reply(null, { data: [], questions: [] });
  };
  return { requests, answer };
}

/** Waits until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !holds(); turn += 1) {
    await new Promise((done) => setTimeout(done, 5));
  }
  assert.ok(holds());
}

const STARTED = { type: "run-started" };
const TEXT = { type: "text", messageId: "m1", full: "I look." };
const CALL = { type: "tool-call", toolCallId: "c1", turn: 1, name: "Bash", status: "running" };
const END = { type: "run-ended", reason: "completed" };

test("parts keep their order, and a status comes from the run, not from the text", async () => {
  const thought = { type: "thought", messageId: "m1", full: "Hm." };
  const server = gateway([STARTED, thought, TEXT, CALL], ["I look.\n\nBash is done."]);
  const chat = new Chat({ fetch: server.answer });
    chat.send("hello", "m");
    await until(() => chat.getTurns()[0]?.items.length === 4);
    const [turn] = chat.getTurns();
    assert.deepEqual(
      turn?.items.map((item) => (item.type === "tool" ? item.tool.status : item.text.text)),
      ["Hm.", "I look.", "running", "Bash is done."],
    );
    assert.equal(chat.isBusy(), true);
    chat.close();
});

test("the next request has the history, and a retry replaces a turn", async () => {
  const server = gateway([STARTED, TEXT, END], ["I ", "look."]);
  const chat = new Chat({ fetch: server.answer });
    for (const prompt of ["one", "two"]) {
      chat.send(prompt, "m");
      await until(() => !chat.isBusy());
    }
    chat.retry(2);
    await until(() => !chat.isBusy());
    const sent = server.requests.filter(({ url }) => url.endsWith("/completions"));
    const messages = sent.map(({ body }) =>
      (JSON.parse(body ?? "") as { messages: { content: string }[] }).messages.map(
        ({ content }) => content,
      ),
    );
    assert.deepEqual(messages, [["one"], ["one", "I look.", "two"], ["one", "I look.", "two"]]);
    assert.equal(sent[0]?.headers["x-foxwedge-keep-running"], "true");
    assert.equal(chat.getTurns().length, 2);
    chat.close();
});

test("a saved chat continues after the last event that arrived", async () => {
  const first = gateway([STARTED, TEXT, CALL], ["I look."]);
  const chat = new Chat({ fetch: first.answer });
    chat.send("hello", "m");
    await until(() => chat.getTurns()[0]?.items.length === 2);
    const saved = JSON.parse(JSON.stringify(chat.save())) as ReturnType<Chat["save"]>;
    chat.close();
    const later = gateway([STARTED, TEXT, CALL, { type: "stop" }, END], []);
      const again = new Chat({ fetch: later.answer, saved });
      assert.equal(again.session, chat.session);
      await until(() => !again.isBusy());
      const [turn] = again.getTurns();
      assert.equal(turn?.snapshot?.outcome, "stopped");
      assert.equal(turn?.snapshot?.tools[0]?.status, "interrupted");
      assert.equal(later.requests[0]?.headers["last-event-id"], "3.1");
      again.close();
});

test("a refused request is an error of its turn, and the next one can be sent", async () => {
  const answer: ChatFetch = async () => ({
    ok: false,
    status: 404,
    headers: { get: () => null },
    body: null,
    json: async () => ({ error: { code: "model_not_found", message: "no provider" } }),
  });
  const chat = new Chat({ fetch: answer });
  chat.send("hello", "nobody");
  await until(() => !chat.isBusy());
  const error = chat.getTurns()[0]?.error;
  assert.deepEqual([error?.status, error?.code, error?.message], [404, "model_not_found", "no provider"]);
  chat.send("again", "nobody");
  assert.equal(chat.getTurns().length, 2);
  chat.close();
});
