// Hosts of the npm package: each refuses a poisoned history or sends it into a 400, and takes it when
// it is repaired; a sound one arrives as it was.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Agent, MemorySession, OpenAIResponsesModel, Runner, setTracingDisabled } from "@openai/agents";
import { convertToModelMessages, generateText, wrapLanguageModel } from "ai";
import { repairMessages, repairMiddleware } from "foxwedge/ai-sdk";
import { repairingFetch } from "foxwedge/fetch";
import { repairMessages as repairChain, repairMiddleware as chainMiddleware } from "foxwedge/langchain";
import { repairProcessor } from "foxwedge/mastra";
import { repairInput, repairItems, repairSession } from "foxwedge/openai-agents";
import OpenAI from "openai";

import { startJudge } from "./judge.mjs";

setTracingDisabled(true);
const judge = await startJudge();
after(() => judge.stop());
const { url: baseURL } = judge;
const apiKey = "none";

const call = (id) => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }] });
const result = (id) => ({ role: "tool", tool_call_id: id, content: "r" });
const user = { role: "user", content: "go" };
const CHAT = { open: [user, call("a"), user], orphan: [user, result("b"), user], sound: [user, call("a"), result("a"), user] };
const last = () => judge.bodies.at(-1);

test("an SDK of OpenAI sends repaired bodies, and sound ones untouched", async () => {
  const reports = [];
  const bare = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
  const guarded = new OpenAI({ apiKey, baseURL, maxRetries: 0, fetch: repairingFetch({ onRepair: (report) => reports.push(report) }) });
  for (const messages of [CHAT.open, CHAT.orphan]) {
    await assert.rejects(bare.chat.completions.create({ model: "m", messages }), { status: 400 });
    const reply = await guarded.chat.completions.create({ model: "m", messages });
    assert.equal(reply.choices[0].message.content, "done");
  }
  assert.deepEqual(reports.map((report) => report.edits[0].code), ["FW101", "FW102"]);
  await guarded.chat.completions.create({ model: "m", messages: CHAT.sound });
  assert.deepEqual(last().messages, CHAT.sound);
  assert.equal(reports.length, 2);
  const input = [{ role: "user", content: "go" }, { type: "function_call", call_id: "a", name: "f", arguments: "{}" }];
  await assert.rejects(bare.responses.create({ model: "m", input }), { status: 400 });
  assert.equal((await guarded.responses.create({ model: "m", input })).output_text, "done");
});

test("an SDK of Anthropic sends repaired bodies", async () => {
  const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] };
  const back = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "r" }] };
  const base = judge.url.replace("/v1", "");
  const bare = new Anthropic({ apiKey, baseURL: base, maxRetries: 0 });
  const guarded = new Anthropic({ apiKey, baseURL: base, maxRetries: 0, fetch: repairingFetch() });
  for (const messages of [[user, use, user], [user, back]]) {
    await assert.rejects(bare.messages.create({ model: "m", max_tokens: 9, messages }), { status: 400 });
    assert.equal((await guarded.messages.create({ model: "m", max_tokens: 9, messages })).content[0].text, "done");
  }
  await guarded.messages.create({ model: "m", max_tokens: 9, messages: [user, use, back] });
  assert.deepEqual(last().messages, [user, use, back]);
});

test("requests that are none to a model pass as they are", async () => {
  const seen = [];
  const send = repairingFetch({ fetch: async (...given) => seen.push(given) });
  const init = { method: "POST", body: JSON.stringify({ messages: CHAT.open }) };
  const broken = { method: "POST", body: "{" };
  await send("http://localhost/v1/embeddings", init);
  await send("http://localhost/v1/chat/completions", broken);
  await send("http://localhost/v1/models");
  assert.ok(seen[0][1] === init && seen[1][1] === broken && seen[2][1] === undefined);
});

test("the AI SDK takes repaired lists, and its model gets repaired prompts", async () => {
  const model = createOpenAICompatible({ name: "judge", baseURL, apiKey })("m");
  const part = { type: "tool-call", toolCallId: "a", toolName: "f", input: {} };
  const open = [{ role: "user", content: "go" }, { role: "assistant", content: [part] }, { role: "user", content: "?" }];
  await assert.rejects(generateText({ model, messages: open, maxRetries: 0 }));
  assert.equal((await generateText({ model, messages: repairMessages(open), maxRetries: 0 })).text, "done");
  const back = { type: "tool-result", toolCallId: "a", toolName: "f", output: { type: "text", value: "r" } };
  const sound = [open[0], open[1], { role: "tool", content: [back] }, open[2]];
  assert.equal(repairMessages(sound), sound);
  const orphan = [open[0], { role: "tool", content: [back] }, open[2]];
  await assert.rejects(generateText({ model, messages: orphan, maxRetries: 0 }));
  const wrapped = wrapLanguageModel({ model, middleware: repairMiddleware() });
  assert.equal((await generateText({ model: wrapped, messages: orphan, maxRetries: 0 })).text, "done");
  const ui = [
    { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
    { id: "2", role: "assistant", parts: [{ type: "tool-f", toolCallId: "a", state: "input-available", input: {} }] },
    { id: "3", role: "user", parts: [{ type: "text", text: "?" }] },
  ];
  const messages = await convertToModelMessages(repairMessages(ui));
  assert.equal((await generateText({ model, messages, maxRetries: 0 })).text, "done");
});

test("OpenAI Agents send repaired input, and read repaired sessions", async () => {
  const model = new OpenAIResponsesModel(new OpenAI({ apiKey, baseURL, maxRetries: 0 }), "m");
  const agent = new Agent({ name: "a", model });
  const asked = { type: "message", role: "user", content: "go" };
  const open = { type: "function_call", callId: "a", name: "f", arguments: "{}", status: "completed" };
  const back = { type: "function_call_result", callId: "a", name: "f", status: "completed", output: { type: "text", text: "r" } };
  const guarded = new Runner({ tracingDisabled: true, callModelInputFilter: repairInput() });
  for (const items of [[asked, open, asked], [asked, back, asked]]) {
    await assert.rejects(new Runner({ tracingDisabled: true }).run(agent, items), { status: 400 });
    assert.equal((await guarded.run(agent, items)).finalOutput, "done");
  }
  const sound = [asked, open, back, asked];
  assert.equal(repairItems(sound), sound);
  const session = repairSession(new MemorySession({ initialItems: [asked, open] }));
  assert.equal((await session.getItems()).length, 3);
  assert.equal((await new Runner({ tracingDisabled: true }).run(agent, "?", { session })).finalOutput, "done");
});

test("models of LangChain get repaired messages, and the middleware gives them to the model", async () => {
  const model = new ChatOpenAI({ model: "m", apiKey, maxRetries: 0, configuration: { baseURL } });
  const human = new HumanMessage("go");
  const open = new AIMessage({ content: "", tool_calls: [{ id: "a", name: "f", args: {} }] });
  const back = new ToolMessage({ tool_call_id: "a", content: "r" });
  const { wrapModelCall } = chainMiddleware();
  const handler = ({ messages }) => model.invoke(messages);
  for (const messages of [[human, open, human], [human, back, human]]) {
    await assert.rejects(model.invoke(messages), { status: 400 });
    assert.equal((await wrapModelCall({ messages }, handler)).content, "done");
  }
  const sound = [human, open, back, human];
  assert.equal(repairChain(sound), sound);
  assert.ok(repairChain([human, open, human]).at(-1) === human);
});

test("Mastra sends repaired prompts, whatever another processor cuts", async () => {
  const call = { type: "tool-call", toolCallId: "a", toolName: "f", input: {} };
  const back = { type: "tool-result", toolCallId: "a", toolName: "f", output: { type: "text", value: "r" } };
  const messages = [user, { role: "assistant", content: [call] }, { role: "tool", content: [back] }, user];
  const model = { id: "judge/m", url: baseURL, apiKey };
  const ask = (...inputProcessors) =>
    new MastraAgent({ id: "a", name: "a", instructions: "help", model, maxRetries: 0, inputProcessors }).generate(messages);
  assert.equal((await ask()).text, "done");
  const sound = last();
  await ask(repairProcessor());
  assert.deepEqual(last(), sound);
  for (const role of ["tool", "assistant"]) {
    const cut = { id: "cut", processLLMRequest: ({ prompt }) => ({ prompt: prompt.filter((message) => message.role !== role) }) };
    await assert.rejects(ask(cut));
    assert.equal((await ask(cut, repairProcessor())).text, "done");
  }
});
