import assert from "node:assert/strict";
import { test } from "node:test";

import { nextOrder, parseOrder, sortRows } from "../src/data/order.js";
import { askOtherTabs, isLocked, shareToken, token, unlock } from "../src/data/token.js";
import type { SessionRow } from "../src/data/types.js";
import { groupEdits } from "../src/parts/sides.js";
import { language } from "../src/settings.js";
import { editText, findingText, ruleSummary } from "../src/words/rules.js";

const row = (id: string, fields: Partial<SessionRow>): SessionRow => ({
  source: "file",
  id,
  session: id,
  agent: "claude-code",
  title: null,
  touched: 0,
  health: "ok",
  findings: null,
  live: null,
  ...fields,
});

test("sessions that need attention are first, and a column sorts all of them", () => {
  const rows = [
    row("a", { touched: 9, size: 5 }),
    row("b", { touched: 1, size: 7, health: "needs-repair" }),
    row("c", { touched: 5, size: 1, health: "history-missing" }),
    row("d", { touched: 3, health: "needs-repair" }),
  ];
  const order = (sort: string) =>
    sortRows(rows, parseOrder(sort))
      .map(({ id }) => id)
      .join("");
  assert.equal(order(""), "dbca");
  assert.equal(order("touched"), "bdca");
  assert.equal(order("-size"), "bacd");
  assert.equal(order("title"), "abcd");
  assert.equal(order("nonsense"), "dbca");
});

test("a column is sorted by its natural direction, the other one, and not at all", () => {
  assert.equal(nextOrder(undefined, "size"), "-size");
  assert.equal(nextOrder(parseOrder("-size"), "size"), "size");
  assert.equal(nextOrder(parseOrder("size"), "size"), "");
  assert.equal(nextOrder(parseOrder("size"), "title"), "title");
  assert.equal(nextOrder(parseOrder("title"), "title"), "-title");
});

test("edits are listed by importance, and removed thinking is one row", () => {
  const edit = (strategy: string, note: string) => ({
    code: "FW101",
    name: "",
    strategy,
    note,
    calls: [],
  });
  const thinking = Array.from({ length: 20 }, (_, at) => edit("drop-thinking", `block ${at}`));
  const groups = groupEdits([
    ...thinking,
    edit("quote", "q"),
    edit("synthesize", "one"),
    edit("synthesize", "two"),
    edit("recover", "r"),
    edit("recover", "r"),
  ]);
  const shown = groups.map(({ word, count }) => `${word} ${count}`);
  assert.deepEqual(shown, ["answered 1", "answered 1", "recovered 2", "quoted 1", "thinking 20"]);
});

test("findings, edits and rules are Chinese in Chinese", () => {
  const finding = { code: "FW101", message: "call `x` has no result", tool: "Bash", calls: ["x"] };
  const edit = { word: "answered", note: "call `x` gets a placeholder result", calls: ["x"] };
  language.value = "en";
  assert.equal(findingText(finding), finding.message);
  assert.equal(editText(edit), edit.note);
  assert.equal(ruleSummary("FW101", "a tool call without a result"), "a tool call without a result");
  language.value = "zh";
  assert.equal(findingText(finding), "工具调用没有结果：Bash x");
  assert.equal(editText(edit), "补上占位结果，说明没有得到结果（x）");
  assert.equal(findingText({ ...finding, code: "FW999" }), finding.message);
  language.value = "en";
});

test("a tab without a token gets it from another tab, and a locked tab gives none", async () => {
  const name = "test.tabs";
  const open = new BroadcastChannel(name);
  unlock("working");
  // Both tabs have the same state in this test: the new one forgets its token first.
  open.addEventListener("message", ({ data }: MessageEvent<{ type: string }>) => {
    if (data.type === "ask") open.postMessage({ type: "token", token: "handed over" });
  });
  unlock("");
  await askOtherTabs(new BroadcastChannel(name), 2_000);
  assert.equal(token.value, "handed over");
  open.close();

  const listener = new BroadcastChannel(name);
  const sharing = new BroadcastChannel(name);
  const received: string[] = [];
  listener.addEventListener("message", ({ data }: MessageEvent<{ token?: string }>) => {
    if (data.token !== undefined) received.push(data.token);
  });
  shareToken(sharing);
  isLocked.value = true;
  listener.postMessage({ type: "ask" });
  await new Promise((done) => setTimeout(done, 50));
  isLocked.value = false;
  listener.postMessage({ type: "ask" });
  for (let turn = 0; turn < 100 && received.length === 0; turn += 1) {
    await new Promise((done) => setTimeout(done, 10));
  }
  assert.deepEqual(received, ["handed over"]);
  listener.close();
  sharing.close();
});
