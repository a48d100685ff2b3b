// The examples of the README inside their hosts: each repairs what its host would send into a 400.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Agent, MemorySession, OpenAIResponsesModel, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, wrapLanguageModel } from "ai";
import OpenAI from "openai";

import { startJudge } from "./judge.mjs";
import { runExample } from "./readme.mjs";

setTracingDisabled(true);
const judge = await startJudge();
after(() => judge.stop());
const { url: baseURL } = judge;
const apiKey = "none";
// What a program of a user has in its environment.
Object.assign(process.env, { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL });

const user = { role: "user", content: "go" };
const use = { type: "tool-call", toolCallId: "a", toolName: "f", input: {} };
const back = { type: "tool-result", toolCallId: "a", toolName: "f", output: { type: "text", value: "r" } };

test("fetch", async () => {
  const { client } = await runExample("fetch", { OpenAI }, "client");
  const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
  const messages = [user, { role: "assistant", content: null, tool_calls: [call] }, user];
  const reply = await client.chat.completions.create({ model: "m", messages });
  assert.equal(reply.choices[0].message.content, "done");
  assert.equal(judge.bodies.at(-1).messages.length, 4);
});

test("AI SDK", async () => {
  const model = createOpenAICompatible({ name: "judge", baseURL, apiKey })("m");
  const messages = [user, { role: "assistant", content: [use] }, user];
  const { guarded } = await runExample("AI SDK", { generateText, wrapLanguageModel, model, messages }, "guarded");
  assert.equal(judge.bodies.at(-1).messages.length, 4);
  const orphan = [user, { role: "tool", content: [back] }, user];
  assert.equal((await generateText({ model: guarded, messages: orphan })).text, "done");
});

test("OpenAI Agents", async () => {
  const agent = new Agent({ name: "a", model: new OpenAIResponsesModel(new OpenAI({ maxRetries: 0 }), "m") });
  const open = { type: "function_call", callId: "a", name: "f", arguments: "{}", status: "completed" };
  const asked = { type: "message", role: "user", content: "go" };
  const session = new MemorySession({ initialItems: [asked, open] });
  const { runner } = await runExample("OpenAI Agents", { Runner, agent, session }, "runner");
  assert.ok(judge.bodies.at(-1).input.some(({ type }) => type === "function_call_output"));
  assert.equal((await runner.run(agent, [asked, open, asked])).finalOutput, "done");
});

test("LangChain and LangGraph", async () => {
  const model = new ChatOpenAI({ model: "m", maxRetries: 0, configuration: { baseURL } });
  const messages = [new HumanMessage("go"), new AIMessage({ content: "", tool_calls: [{ id: "a", name: "f", args: {} }] }), new HumanMessage("?")];
  const given = { createAgent: (options) => options, model, tools: [], state: { messages } };
  const { agent, reply } = await runExample("LangChain and LangGraph", given, "agent", "reply");
  assert.equal(reply.content, "done");
  const handler = ({ messages }) => model.invoke(messages);
  assert.equal((await agent.middleware[0].wrapModelCall({ messages }, handler)).content, "done");
});

test("Mastra", async () => {
  const model = { id: "judge/m", url: baseURL, apiKey };
  const given = { Agent: MastraAgent, id: "a", name: "a", instructions: "help", model };
  const { agent } = await runExample("Mastra", given, "agent");
  const messages = [user, { role: "assistant", content: [use] }, { role: "tool", content: [back] }, user];
  assert.equal((await agent.generate(messages)).text, "done");
});

test("opencode", async () => {
  const { FoxwedgeRepair } = await runExample("opencode", {}, "FoxwedgeRepair");
  const hooks = await FoxwedgeRepair({});
  const part = (callID, state) => ({ id: `p-${callID}`, sessionID: "s", messageID: "m2", type: "tool", callID, tool: "bash", state });
  const done = part("a", { status: "completed", input: {}, output: "r", title: "t", metadata: {}, time: { start: 1, end: 2 } });
  const running = part("b", { status: "running", input: { command: "make" }, time: { start: 5 } });
  const text = { id: "p", sessionID: "s", messageID: "m1", type: "text", text: "go" };
  const step = { id: "p0", sessionID: "s", messageID: "m2", type: "step-start" };
  const asked = (id) => ({ info: { id, sessionID: "s", role: "user" }, parts: [text] });
  const reply = (...parts) => ({ info: { id: "m2", sessionID: "s", role: "assistant" }, parts: [step, ...parts] });
  const sound = [asked("m1"), reply(done), asked("m3")];
  const output = { messages: [...sound] };
  const { messages: list } = output;
  await hooks["experimental.chat.messages.transform"]({}, output);
  assert.ok(output.messages === list && list.every((message, index) => message === sound[index]));
  list.splice(0, 3, asked("m1"), reply(done, running), asked("m3"));
  const stored = structuredClone(list);
  const [before] = list.slice(1);
  await hooks["experimental.chat.messages.transform"]({}, output);
  assert.ok(output.messages === list && list.length === 3);
  assert.deepEqual(before, stored[1]);
  const [first, second, third] = list[1].parts;
  assert.ok(first === step && second === done);
  assert.deepEqual([third.callID, third.state.status, third.state.input], ["b", "error", { command: "make" }]);
  assert.match(third.state.error, /may have run/);
});

test("Following an agent", async () => {
  const sent = [];
  const call = { type: "tool_use", id: "c1", name: "Bash", input: { command: "ls" } };
  async function* query({ options: { canUseTool } }) {
    yield { type: "system", subtype: "init", session_id: "s", model: "m", tools: ["Bash"] };
    yield { type: "assistant", session_id: "s", message: { id: "m1", role: "assistant", content: [call] } };
    const { behavior, message } = await canUseTool("Bash", call.input, { toolUseID: "c1" });
    assert.equal(behavior, "deny");
    const result = { type: "tool_result", tool_use_id: "c1", is_error: true, content: message };
    yield { type: "user", session_id: "s", message: { role: "user", content: [result] } };
    yield { type: "result", subtype: "success", is_error: false, result: "Then not.", session_id: "s" };
  }
  const askPerson = async () => ({ behavior: "deny", message: "no" });
  await runExample("Following an agent", { query, askPerson, prompt: "go", send: (event) => sent.push(event) });
  const types = sent.map(({ type }) => type);
  assert.deepEqual([types[0], types.at(-1)], ["run-started", "run-ended"]);
  assert.ok(types.includes("approval-asked") && types.includes("approval-answered"), types.join());
  assert.deepEqual([sent.at(-1).reason, sent.at(-1).runId], ["completed", "run-1"]);
  assert.ok(sent.every(({ at }) => at > 0));
});
