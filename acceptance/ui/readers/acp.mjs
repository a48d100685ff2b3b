// ACP, read twice: every message by the schemas of the SDK, and all of them by a client that it runs.

import { client as first } from "@agentclientprotocol/sdk";
import { client as second } from "@agentclientprotocol/sdk/experimental/v2";
// The package keeps its schemas to itself.
import * as schemas1 from "./../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js";
import * as schemas2 from "./../node_modules/@agentclientprotocol/sdk/dist/v2/schema/zod.gen.js";
import { isDeepStrictEqual } from "node:util";
import { data, insist } from "./stream.mjs";

const VERSIONS = {
  1: { client: first, schemas: schemas1, update: schemas1.zSessionNotification },
  2: { client: second, schemas: schemas2, update: schemas2.zUpdateSessionNotification },
};

export async function read({ version, stream }) {
  const messages = data(stream).map((text) => JSON.parse(text));
  messages.forEach((message) => check(VERSIONS[version], message));
  const end = ending(version, messages);
  const heard = await converse(version, messages);
  const updates = messages.filter(({ method }) => method === "session/update").map(({ params }) => params.update);
  insist(isDeepStrictEqual(heard, updates), `${updates.length} updates were sent, ${heard.length} were heard`);

  const calls = {};
  let text = "";
  for (const update of updates) {
    const { sessionUpdate: kind, toolCallId: id, status } = update;
    if (kind === "agent_message_chunk") text += update.content.text;
    if (kind === "tool_call") insist(!(id in calls), `the call ${id} begins twice`);
    if (kind === "tool_call_update" && version === 1) insist(id in calls, `the call ${id} never began`);
    if (kind.startsWith("tool_call") && status !== undefined) {
      const over = ["completed", "failed", "cancelled"].includes(calls[id]);
      // What was told as failed may turn out to have been denied, or handed over to a person.
      const now = update._meta?.foxwedge?.status;
      const corrected = calls[id] !== "completed" && ["denied", "handed_over"].includes(now);
      insist(!over || corrected, `the call ${id} goes on after it was ${calls[id]}`);
      calls[id] = status;
    }
  }
  for (const [id, status] of Object.entries(calls)) {
    insist(["completed", "failed", "cancelled"].includes(status), `the call ${id} is still ${status}`);
  }
  questions(messages);
  return { text, calls, end };
}

// The schemas forgive much and leave out what they do not know. What they make of a message must be the message.
function check({ schemas, update }, message) {
  insist(message.jsonrpc === "2.0", "it is no JSON-RPC 2.0");
  const { method, params, result, error } = message;
  if (method === undefined) {
    if (error !== undefined) return same(schemas.zError, error);
    return same(schemas.zPromptResponse, result);
  }
  if (method.startsWith("_")) return;
  const known = {
    "session/update": update,
    "session/request_permission": schemas.zRequestPermissionRequest,
    "$/cancel_request": schemas.zCancelRequestNotification,
  };
  insist(method in known, `no client knows ${method}`);
  same(known[method], params);
}

function same(schema, value) {
  const read = schema.parse(value);
  insist(isDeepStrictEqual(read, value), `of ${JSON.stringify(value)} this was understood: ${JSON.stringify(read)}`);
}

function ending(version, messages) {
  const isEnd = ({ method, params }) =>
    version === 1 ? method === undefined : params?.update?.sessionUpdate === "state_update" && params.update.state === "idle";
  const ends = messages.filter(isEnd);
  insist(ends.length === 1 && messages.at(-1) === ends[0], `the run has ${ends.length} ends, or one in its middle`);
  const [end] = ends;
  if (version === 2) return end.params.update.stopReason;
  return end.result?.stopReason ?? "error";
}

// Every request is called off, since nobody here answers one.
function questions(messages) {
  const open = new Set();
  for (const { method, id, params } of messages) {
    if (method === "session/request_permission") {
      insist(!open.has(id), `the request ${id} is open already`);
      open.add(id);
    }
    if (method === "$/cancel_request") insist(open.delete(params.requestId), `nobody asked ${params.requestId}`);
  }
  insist(open.size === 0, `the requests ${[...open]} are still open`);
}

// A client that prompts, and an agent that answers with our messages. Only the id of the prompt is the client's own.
async function converse(version, messages) {
  const heard = [];
  let tell;
  const readable = new ReadableStream({ start: (controller) => void (tell = (message) => controller.enqueue(message)) });
  const writable = new WritableStream({
    write({ id, method }) {
      const reply = (result) => tell({ jsonrpc: "2.0", id, result });
      if (method === "initialize") {
        const agent = { protocolVersion: version, agentCapabilities: {}, authMethods: [] };
        reply(version === 1 ? agent : { ...agent, info: { name: "foxwedge", version: "0" }, capabilities: {} });
      }
      if (method === "session/new") reply({ sessionId: "s" });
      if (method !== "session/prompt") return;
      if (version === 2) reply({ messageId: "u" });
      messages.forEach((message) => tell("method" in message ? message : { ...message, id }));
    },
  });
  const ended = Promise.withResolvers?.() ?? resolvers();
  const app = VERSIONS[version]
    .client({ name: "reader" })
    .onRequest("session/request_permission", () => new Promise(() => {}))
    .onNotification("session/update", ({ params }) => {
      heard.push(params.update);
      if (params.update.state === "idle") ended.resolve();
    });
  await app.connectWith({ readable, writable }, async (agent) => {
    const about = { name: "reader", version: "0" };
    await agent.request("initialize", { protocolVersion: version, clientCapabilities: {}, info: about, capabilities: {} });
    await agent.request("session/new", { cwd: "/", mcpServers: [] });
    const prompt = agent.request("session/prompt", { sessionId: "s", prompt: [{ type: "text", text: "go" }] });
    const fails = messages.at(-1).error?.message;
    const told = await prompt.then(() => undefined, (error) => error.message);
    insist(told === fails, `the prompt failed with ${told}, and should with ${fails}`);
    if (version === 2) await ended.promise;
  });
  return heard;
}

function resolvers() {
  let resolve;
  const promise = new Promise((done) => void (resolve = done));
  return { promise, resolve };
}
