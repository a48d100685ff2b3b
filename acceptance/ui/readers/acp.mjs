// ACP, read twice: every message with the schemas of the SDK, and all messages with a running client.

import { client as first } from "@agentclientprotocol/sdk";
import { client as second } from "@agentclientprotocol/sdk/experimental/v2";
// The package does not export its schemas.
import * as schemas1 from "./../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js";
import * as schemas2 from "./../node_modules/@agentclientprotocol/sdk/dist/v2/schema/zod.gen.js";
import { isDeepStrictEqual } from "node:util";
import { assert, data } from "./stream.mjs";

const STATUSES = {
  1: ["pending", "in_progress", "completed", "failed"],
  2: ["pending", "in_progress", "paused", "completed", "failed", "cancelled"],
};

const VERSIONS = {
  1: { client: first, schemas: schemas1, update: schemas1.zSessionNotification },
  2: { client: second, schemas: schemas2, update: schemas2.zUpdateSessionNotification },
};

export async function read({ version, stream }) {
  const messages = data(stream).map((text) => JSON.parse(text));
  messages.forEach((message) => check(VERSIONS[version], message));
  const end = runEnd(version, messages);
  const received = await converse(version, messages);
  const updates = messages.filter(({ method }) => method === "session/update").map(({ params }) => params.update);
  assert(isDeepStrictEqual(received, updates), `${updates.length} updates were sent, ${received.length} were received`);

  const calls = {};
  let text = "";
  for (const update of updates) {
    const { sessionUpdate: kind, toolCallId: id, status } = update;
    if (kind === "agent_message_chunk") text += update.content.text;
    if (kind === "tool_call") assert(!(id in calls), `the call ${id} starts twice`);
    if (kind === "tool_call_update" && version === 1) assert(id in calls, `the call ${id} never started`);
    if (kind.startsWith("tool_call") && status !== undefined) {
      // The schema of version 2 accepts any string.
      assert(STATUSES[version].includes(status), `the call ${id} has the unknown status ${status}`);
      const isFinal = ["completed", "failed", "cancelled"].includes(calls[id]);
      // A failed call may turn out to have been denied, or handed over to a person.
      const foxwedgeStatus = update._meta?.foxwedge?.status;
      const corrected = calls[id] !== "completed" && ["denied", "handed_over"].includes(foxwedgeStatus);
      assert(!isFinal || corrected, `the call ${id} changes after it was ${calls[id]}`);
      calls[id] = status;
    }
  }
  for (const [id, status] of Object.entries(calls)) {
    assert(["completed", "failed", "cancelled"].includes(status), `the call ${id} is still ${status}`);
  }
  checkPermissionRequests(messages);
  return { text, calls, end };
}

// The schemas are lenient and drop unknown fields. The parsed message must equal the message.
function check({ schemas, update }, message) {
  assert(message.jsonrpc === "2.0", "it is not JSON-RPC 2.0");
  const { method, params, result, error } = message;
  if (method === undefined) {
    if (error !== undefined) return checkSchema(schemas.zError, error);
    return checkSchema(schemas.zPromptResponse, result);
  }
  if (method.startsWith("_")) return;
  const known = {
    "session/update": update,
    "session/request_permission": schemas.zRequestPermissionRequest,
    "$/cancel_request": schemas.zCancelRequestNotification,
  };
  assert(method in known, `the method ${method} is unknown`);
  checkSchema(known[method], params);
}

function checkSchema(schema, value) {
  const read = schema.parse(value);
  assert(isDeepStrictEqual(read, value), `${JSON.stringify(value)} was parsed as ${JSON.stringify(read)}`);
}

function runEnd(version, messages) {
  const isEnd = ({ method, params }) =>
    version === 1 ? method === undefined : params?.update?.sessionUpdate === "state_update" && params.update.state === "idle";
  const ends = messages.filter(isEnd);
  assert(ends.length === 1 && messages.at(-1) === ends[0], `the run has ${ends.length} ends, or one in its middle`);
  const [end] = ends;
  if (version === 2) return end.params.update.stopReason;
  return end.result?.stopReason ?? "error";
}

// Every permission request must be canceled, since it is never answered here.
function checkPermissionRequests(messages) {
  const open = new Set();
  for (const { method, id, params } of messages) {
    if (method === "session/request_permission") {
      assert(!open.has(id), `the request ${id} is open already`);
      open.add(id);
    }
    if (method === "$/cancel_request") {
      assert(open.delete(params.requestId), `the request ${params.requestId} is not open`);
    }
  }
  assert(open.size === 0, `the requests ${[...open]} are still open`);
}

// A client that prompts, and an agent that sends our messages. Only the id of the prompt is the client's own.
async function converse(version, messages) {
  const received = [];
  let send;
  const readable = new ReadableStream({ start: (controller) => void (send = (message) => controller.enqueue(message)) });
  const writable = new WritableStream({
    write({ id, method }) {
      const reply = (result) => send({ jsonrpc: "2.0", id, result });
      if (method === "initialize") {
        const agent = { protocolVersion: version, agentCapabilities: {}, authMethods: [] };
        reply(version === 1 ? agent : { ...agent, info: { name: "foxwedge", version: "0" }, capabilities: {} });
      }
      if (method === "session/new") reply({ sessionId: "s" });
      if (method !== "session/prompt") return;
      if (version === 2) reply({ messageId: "u" });
      messages.forEach((message) => send("method" in message ? message : { ...message, id }));
    },
  });
  const ended = Promise.withResolvers?.() ?? resolvers();
  const app = VERSIONS[version]
    .client({ name: "reader" })
    .onRequest("session/request_permission", () => new Promise(() => {}))
    .onNotification("session/update", ({ params }) => {
      received.push(params.update);
      if (params.update.state === "idle") ended.resolve();
    });
  await app.connectWith({ readable, writable }, async (agent) => {
    const info = { name: "reader", version: "0" };
    await agent.request("initialize", { protocolVersion: version, clientCapabilities: {}, info, capabilities: {} });
    await agent.request("session/new", { cwd: "/", mcpServers: [] });
    const prompt = agent.request("session/prompt", { sessionId: "s", prompt: [{ type: "text", text: "go" }] });
    const expected = messages.at(-1).error?.message;
    const failure = await prompt.then(() => undefined, (error) => error.message);
    assert(failure === expected, `the prompt failed with ${failure}, expected ${expected}`);
    if (version === 2) await ended.promise;
  });
  return received;
}

function resolvers() {
  let resolve;
  const promise = new Promise((done) => void (resolve = done));
  return { promise, resolve };
}
