// The examples, by what they promise: no call loses its result, whatever was cut or left open.

import assert from "node:assert/strict";
import { test } from "node:test";

import { check } from "foxwedge";

import { convertToOpenAiMessages } from "../examples/convert-to-openai.js";
import { filterMessages } from "../examples/filter-messages.js";
import { sanitizeMessages } from "../examples/sanitize-messages.js";
import { truncateConversation } from "../examples/truncate-conversation.js";

const user = (text) => ({ role: "user", content: text });
const use = (id, text) => ({
  role: "assistant",
  content: [...(text ? [{ type: "text", text }] : []), { type: "tool_use", id, name: "read", input: { path: "a" } }],
});
const result = (id) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] });

test("a reply with an open call goes as a whole", () => {
  const messages = [user("read a"), use("t1"), result("t1"), use("t2", "now writing")];
  const filtered = filterMessages(messages);
  assert.deepEqual(filtered, messages.slice(0, 3));
  assert.ok(filtered.every((message, index) => message === messages[index]));
  assert.equal(filterMessages(filtered), filtered);
});

test("a shorter conversation parts no call from its result", () => {
  const messages = [user("start")];
  for (let at = 0; at < 20; at++) messages.push(use(`t${at}`, `step ${at} ${"word ".repeat(30)}`), result(`t${at}`));
  messages.push(user("and now?"));
  for (const fraction of [0.2, 0.5, 0.8]) {
    const short = truncateConversation(messages, fraction);
    assert.ok(short.length < messages.length && check(short).valid, String(fraction));
    assert.equal(short.at(-1), messages.at(-1));
  }
});

test("messages of Anthropic become messages of OpenAI without orphans", () => {
  const sound = convertToOpenAiMessages([user("go"), use("t1"), result("t1")]);
  assert.deepEqual(sound.map(({ role, tool_call_id }) => tool_call_id ?? role), ["user", "assistant", "t1"]);
  assert.equal(sound[1].tool_calls[0].id, "t1");
  const orphan = convertToOpenAiMessages([user("Previous conversation"), result("t1")]);
  assert.ok(orphan.every(({ role }) => role === "user"), JSON.stringify(orphan));
  const text = convertToOpenAiMessages([user("go"), use("t1"), result("t1")], "xml");
  assert.ok(text.every((message) => message.tool_calls === undefined && message.role !== "tool"));
});

test("an interrupted turn is closed before the next request", () => {
  const calls = ["c1", "c2"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  const done = { role: "tool", tool_call_id: "c1", content: "done" };
  const messages = [user("list"), { role: "assistant", content: "", tool_calls: calls }, done, user("stop")];
  const log = [];
  const sound = sanitizeMessages(messages, (line) => log.push(line));
  assert.equal(check(sound, { profile: "deepseek" }).valid, true);
  assert.ok(sound.includes(done) && log.length === 1 && log[0].includes("c2"), log.join());
});
