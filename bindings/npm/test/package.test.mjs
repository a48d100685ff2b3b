// The package as a program sees it: both kinds of modules, arrays, objects, texts and bytes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as foxwedge from "foxwedge";

const required = createRequire(import.meta.url)("foxwedge");
const { check, compact, convert, convertResponse, explain, fix, FoxwedgeError, rules, sessions, StreamConverter } = foxwedge;

const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
const poisoned = () => [
  { role: "user", content: "go" },
  { role: "assistant", content: null, tool_calls: [call] },
  { role: "user", content: "well?" },
];

test("a finding names its message, its call and its rule", () => {
  const report = check(poisoned());
  assert.equal(report.valid, false);
  const [{ code, rule, index, ids }] = report.findings;
  assert.deepEqual({ code, rule, index, ids }, { code: "FW101", rule: "unanswered-call", index: 1, ids: ["a"] });
});

test("untouched messages are the same objects", () => {
  const before = poisoned();
  const { messages, changed, edits, valid } = fix(before);
  assert.deepEqual([changed, valid, edits[0].code], [true, true, "FW101"]);
  assert.equal(messages.length, 4);
  assert.ok(messages[0] === before[0] && messages[1] === before[1] && messages[3] === before[2]);
  assert.equal(messages[2].role, "tool");
});

test("of a request, everything that is not touched is the same object", () => {
  const [messages, tools] = [poisoned(), [{ type: "function", function: { name: "f", parameters: {} } }]];
  const { document, changed } = fix({ model: "gpt-4o", tools, messages });
  assert.ok(changed && document.tools === tools && document.model === "gpt-4o");
  assert.ok(document.messages[0] === messages[0] && document.messages[3] === messages[2]);
  assert.equal(messages.length, 3);
  // A field that the repair changes is new: thinking cannot go on behind a turn that has none.
  const blocks = [{ role: "user", content: "q" }, { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] }];
  const request = { model: "claude-x", thinking: { type: "enabled", budget_tokens: 2000 }, messages: [...blocks, { role: "user", content: "?" }] };
  const fixed = fix(request, { format: "anthropic" }).document;
  assert.deepEqual(JSON.parse(fix(JSON.stringify(request), { format: "anthropic" }).document), fixed);
});

test("untouched messages of the AI SDK are the same objects, with what JSON cannot hold", () => {
  const metadata = { at: new Date(0), seen: undefined };
  const ui = [
    { id: "1", role: "user", metadata, parts: [{ type: "text", text: "hi" }] },
    { id: "2", role: "assistant", parts: [{ type: "tool-w", toolCallId: "c", state: "input-available", input: {} }] },
    { id: "3", role: "user", metadata, parts: [{ type: "text", text: "?" }] },
  ];
  const fixed = fix(ui);
  assert.ok(fixed.changed && fixed.messages[0] === ui[0] && fixed.messages[2] === ui[2]);
  assert.equal(fixed.messages[1].parts[0].state, "output-error");
  const model = [
    { role: "user", content: [{ type: "text", text: "hi" }], providerOptions: metadata },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "w", input: {} }] },
    { role: "user", content: [{ type: "text", text: "?" }], providerOptions: metadata },
  ];
  const { messages } = fix(model);
  assert.ok(messages.length === 4 && messages[0] === model[0] && messages[1] === model[1] && messages[3] === model[2]);
});

test("an object that writes its own JSON is what it wrote", () => {
  const hidden = { toJSON: () => ({ model: "gpt-4o", messages: poisoned() }), messages: ["something else"] };
  assert.equal(fix(hidden).messages.length, 4);
  const list = Object.assign([1, 2], { toJSON: () => poisoned() });
  assert.equal(fix({ model: "gpt-4o", messages: list }).messages[2].role, "tool");
});

test("of an object with long texts, only its JSON counts", () => {
  const long = "word ".repeat(100) + ".";
  class Hidden {
    role = "user";
    get content() {
      return long;
    }
  }
  const written = { role: "user", toJSON: () => ({ role: "user", content: "" }), content: long };
  for (const message of [new Hidden(), written, Object.create({ content: long }, { role: { value: "user", enumerable: true } })]) {
    for (const input of [[message], { model: "gpt-4o", messages: [message] }]) {
      const options = { profile: "anthropic" };
      assert.deepEqual(check(input, options), check(JSON.stringify(input), options));
    }
  }
});

test("in a browser, a call uses the smallest loaded module that can answer it", async () => {
  const web = await import("../src/web.js");
  const bytes = (name) => readFileSync(new URL(`../${name}`, import.meta.url));
  assert.throws(() => web.check(poisoned()), { kind: "not-loaded", message: /`await load\(\)`/ });
  await web.loadCheck(bytes("foxwedge-check.wasm"));
  assert.equal(web.fix(poisoned()).messages.length, 4);
  assert.throws(() => web.convert(poisoned(), { to: "anthropic" }), { kind: "not-loaded", message: /`await load\(\)`/ });
  await web.load(bytes("foxwedge.wasm"));
  assert.equal(web.convert(poisoned(), { to: "anthropic" }).document.length, 3);
  assert.throws(() => web.explain("x"), { kind: "not-loaded", message: /`await loadAll\(\)`/ });
  await web.loadAll(bytes("foxwedge-all.wasm"));
  assert.equal(web.explain("x").known, false);
});

test("where nothing is wrong, the same array comes back", () => {
  const { messages } = fix(poisoned());
  const again = fix(messages);
  assert.ok(again.messages === messages && again.document === messages && !again.changed);
  const request = { model: "gpt-4o", messages };
  assert.ok(fix(request).document === request);
});

test("requests, texts and bytes come back as what they were", () => {
  const request = { model: "gpt-4o", temperature: 0.5, messages: poisoned() };
  const fixed = fix(request);
  assert.equal(fixed.document.temperature, 0.5);
  assert.equal(fixed.messages.length, 4);
  const text = JSON.stringify(request, null, 2);
  assert.equal(typeof fix(text).document, "string");
  assert.ok(fix(text).document.startsWith('{\n  "model": "gpt-4o"'));
  const bytes = new TextEncoder().encode(text);
  assert.ok(fix(bytes).document instanceof Uint8Array);
});

test("messages are converted and compacted", () => {
  const { document, losses } = convert(poisoned(), { to: "anthropic" });
  assert.equal(document[1].content[0].type, "tool_use");
  assert.deepEqual(losses, []);
  const response = { id: "r", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }] };
  assert.equal(convertResponse(response, { from: "openai-chat", to: "gemini" }).document.candidates[0].content.parts[0].text, "Hi");
  const long = Array.from({ length: 60 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `${at} ${"word ".repeat(40)}` }));
  long.push({ role: "user", content: "and now?" });
  const short = compact(long, { maxTokens: 900 });
  assert.ok(short.changed && short.tokensAfter <= 900 && short.messages.at(-1) === long.at(-1));
});

test("a stream is converted piece by piece", async () => {
  const events =
    'data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n' +
    'data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const converter = new StreamConverter({ from: "openai-chat", to: "anthropic" });
  let out = "";
  for (const piece of events.match(/[^]{1,9}/g)) out += new TextDecoder().decode(converter.push(piece));
  const { complete, messages, rest } = converter.finish();
  assert.deepEqual(messages, [{ role: "assistant", content: [{ type: "text", text: "Hi" }] }]);
  assert.ok(complete && (out + new TextDecoder().decode(rest)).includes("message_stop"));
  // The next stream may get the place of the one that ended.
  const next = new StreamConverter({ from: "openai-chat", to: "anthropic" });
  assert.throws(() => converter.push("x"), FoxwedgeError);
  next.push(events);
  assert.ok(next.finish().complete);
  const source = new Blob([events]).stream().pipeThrough(StreamConverter.transform({ from: "openai-chat", to: "gemini" }));
  assert.ok((await new Response(source).text()).includes('"text":"Hi"'));
});

test("what a broken stream had to say comes before its error", async () => {
  const broken =
    'data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\ndata: {"id":\n\n';
  const converter = new StreamConverter({ from: "openai-chat", to: "anthropic" });
  const out = new TextDecoder().decode(converter.push(broken));
  assert.ok(out.includes("text_delta") && out.includes("event: error"), out);
  assert.throws(() => converter.finish(), { kind: "unreadable" });
  const reader = new Blob([broken]).stream().pipeThrough(StreamConverter.transform({ from: "openai-chat", to: "anthropic" })).getReader();
  assert.ok(new TextDecoder().decode((await reader.read()).value).includes("event: error"));
  await assert.rejects(reader.read(), FoxwedgeError);
});

test("texts of any characters arrive as they are, whatever was written before", () => {
  const texts = ["", "é", "😀".repeat(5000), `${"a".repeat(70_000)}ü`, "\u2028中文", "plain"];
  for (const content of [...texts, ...texts.reverse()]) {
    const [user, assistant, tool] = fix([...poisoned().slice(0, 1), { ...poisoned()[1], content }, poisoned()[2]]).messages;
    assert.ok(user.content === "go" && assistant.content === content && tool.role === "tool");
    const text = JSON.stringify({ model: "m", messages: [{ role: "user", content: `q${content}` }, ...poisoned().slice(1)] });
    assert.equal(JSON.parse(fix(text).document).messages[0].content, `q${content}`);
  }
});

test("session files are read and repaired", () => {
  const record = (uuid, parentUuid, role, content) =>
    JSON.stringify({ type: role, uuid, parentUuid, sessionId: "s", message: { role, id: `m${uuid}`, content } });
  const use = [{ type: "tool_use", id: "a", name: "f", input: {} }];
  const file = [record("1", null, "user", "go"), record("2", "1", "assistant", use), record("3", "2", "user", "?"), ""].join("\n");
  const session = sessions.read(file);
  assert.deepEqual([session.agent, session.id], ["claude-code", "s"]);
  assert.equal(session.history.length ?? session.history.messages.length, 3);
  assert.ok(sessions.fix(file, { forApi: true }).document.includes("tool_result"));
});

test("errors and rules are explained", () => {
  const text = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1";
  assert.equal(explain(text).code, "FW101");
  assert.equal(explain("nice weather").known, false);
  assert.ok(rules().length > 50);
});

test("both kinds of modules have the same functions", () => {
  assert.deepEqual(Object.keys(required).sort(), Object.keys(foxwedge).filter((name) => name !== "default").sort());
  assert.equal(required.check(poisoned()).valid, false);
});

test("bad input is an error of the package, and the next call works", () => {
  const circle = {};
  circle.self = circle;
  const deep = "[".repeat(100_000);
  for (const input of [undefined, circle, 12n, () => {}, "", "[", deep, "\ud800", new Uint8Array([255, 254]), 42, null, {}]) {
    assert.throws(() => check(input), FoxwedgeError);
  }
  assert.throws(() => check(poisoned(), { profil: "x" }), { kind: "invalid-options", message: /no option `profil`/ });
  assert.throws(() => convert(poisoned(), {}), { kind: "invalid-options" });
  assert.equal(check(poisoned()).valid, false);
});

test("random changes never stop the engine, and every repair is valid", () => {
  let seed = 7;
  const random = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  const ids = ["a", "b", "", null, 7];
  const one = () => {
    const id = ids[random(ids.length)];
    return [
      { role: "user", content: "q" },
      { role: "assistant", content: "t", tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }] },
      { role: "tool", tool_call_id: id, content: "r" },
      { role: "assistant", content: "" },
      { role: "tool", content: [] },
    ][random(5)];
  };
  for (let at = 0; at < 3000; at++) {
    const list = [{ role: "user", content: "q" }, ...Array.from({ length: random(9) }, one)];
    const fixed = fix(list, { format: "openai-chat", unsafeFixes: true });
    assert.ok(fixed.valid, JSON.stringify(list));
    const again = fix(fixed.messages, { format: "openai-chat", unsafeFixes: true });
    assert.ok(again.messages === fixed.messages, JSON.stringify(fixed.messages));
  }
});
