/**
 * Reads events, in our spelling and in those of agents.
 *
 * An event of an unknown type, or without a required field, becomes `unknown` with its whole
 * content. Unknown content is never an error.
 */

import type { Unreadable } from "../effect.js";
import type { Activity, Body, Event, Started, Task, Text, ToolsAvailable } from "../event.js";
import { wellFormed } from "../text.js";
import { Json, isJson } from "../value.js";
import * as calls from "./calls.js";
import type { MissingField } from "./calls.js";
import * as ending from "./ending.js";
import { EventObject, type UnknownValue, stringOf, textOf } from "./object.js";
import { taskFromName } from "./words.js";
import { isPlace } from "./write.js";

/** An event, or why the text is not one. */
export type Read =
  | { readonly event: Event }
  | { readonly event?: undefined; readonly why: Unreadable };

/** Reads an event from a JSON object. */
export function read(line: string): Read {
  const text = wellFormed(line);
  if (!isJson(text)) return { why: "not_json" };
  if (!/^[ \t\n\r]*\{/.test(text)) return { why: "not_object" };
  const unknown: UnknownValue = {};
  const object = new EventObject(text, unknown);
  const run = object.string("runId");
  if (!run) return { why: "no_run" };
  const kind = object.string("type");
  if (!kind) return { why: "no_type" };
  // An unknown value that an earlier reader noted is kept.
  const earlier = object.string("odd");
  if (earlier) unknown.word = earlier;
  let body = readBody(kind, object);
  if ("missing" in body) {
    if (body.missing !== undefined) object.noteUnknown(body.missing);
    body = { type: "unknown", kind, raw: Json.known(text.trim()) };
  }
  const epoch = object.number("epoch", "runEpoch");
  const seq = readSeq(object);
  const at = object.number("at", "timestamp", "startedAt", "emittedAt", "terminalAt");
  return { event: { run, epoch, seq, at, odd: unknown.word, body } };
}

function readSeq(object: EventObject): number | undefined {
  const seq = object.number("seq");
  if (seq === undefined || isPlace(seq)) return seq;
  object.noteUnknown(`seq ${seq}`);
  return undefined;
}

/** The body of an event. For an unknown type, the missing field is undefined. */
function readBody(kind: string, object: EventObject): Body | MissingField {
  switch (kind) {
    case "text":
    case "thought":
      return textBody(kind, readText(object, `${kind} without delta`));
    case "agent:message":
      return textBody("text", readMessage(object));
    case "agent:thought":
      return textBody("thought", readThought(object));
    case "tool-call":
      return { type: "call", call: calls.readCall(object, calls.readCallRef(object)) };
    case "agent:tool-call":
      return { type: "call", call: calls.readCall(object, calls.readCallRefOrId(object)) };
    case "tool-arguments":
      return calls.readArguments(object);
    case "tool-progress": {
      const content = object.json("content", "progress") ?? NULL;
      return { type: "progress", call: calls.readCallRef(object), content };
    }
    case "tool-result":
    case "agent:tool-result":
      return { type: "result", result: calls.readResult(object) };
    case "tool-cancelled":
      return { type: "cancelled", call: calls.readCallRef(object) };
    case "approval-asked":
      return { type: "asked", ask: calls.readApprovalRequest(object, "approval") };
    case "question-asked":
      return { type: "asked", ask: calls.readApprovalRequest(object, "question") };
    case "approval-answered":
    case "question-answered": {
      const reply = calls.readApprovalReply(kind, object);
      return "missing" in reply ? reply : { type: "replied", reply };
    }
    case "turn-started": {
      const turn = { turn: calls.readTurn(object), message: object.id("messageId") };
      return { type: "turn", turn };
    }
    case "usage": {
      const usage = ending.readNestedUsage(object) ?? ending.readUsage(object);
      return usage === undefined ? missingField("usage without tokens") : { type: "usage", usage };
    }
    case "tasks":
      return readTasks(object);
    case "activity":
      return readActivity(object);
    case "error":
      return { type: "problem", problem: ending.readProblem(object, false) };
    case "agent:error":
      return { type: "problem", problem: ending.readProblem(object, true) };
    case "stop":
      return { type: "stop", stop: { grace: object.number("grace", "graceMs") ?? 0 } };
    case "timed-out":
      return { type: "timedOut", call: calls.readOptionalCallRef(object) };
    case "run-started":
    case "agent:run-start":
      return { type: "started", started: readStart(object) };
    case "tools-available":
    case "agent:tools-available":
      return readTools(object);
    case "run-ended":
    case "agent:complete":
      return { type: "ended", ended: ending.readEnd(object) };
    case "unknown":
      return readUnknown(object);
    default:
      return missingField(undefined);
  }
}

function missingField(missing: string | undefined): MissingField {
  return { missing };
}

function textBody(type: "text" | "thought", text: Text | MissingField): Body | MissingField {
  return "missing" in text ? text : { type, text };
}

/** The fields of a text event apart from its text. */
const HEAD_FIELDS = [
  "type",
  "runId",
  "epoch",
  "runEpoch",
  "seq",
  "at",
  "odd",
  "messageId",
  "parentToolCallId",
  "parentToolUseId",
];

/**
 * A delta, or a full text. A text event without text is valid, unless it has an unknown field.
 */
function readText(object: EventObject, missing: string): Text | MissingField {
  const delta = object.text("delta");
  const full = object.text("full", "text", "content");
  const hasText = delta !== undefined || full !== undefined;
  const isText = hasText || object.hasOnly(HEAD_FIELDS);
  return isText ? { ...readTextHead(object), delta, full } : { missing };
}

function readTextHead(object: EventObject): Text {
  return { message: object.id("messageId"), parent: calls.readParent(object) };
}

function readMessage(object: EventObject): Text | MissingField {
  const content = object.text("content");
  if (content === undefined) {
    const delta = object.text("delta");
    if (delta === undefined) return missingField("agent:message without content");
    return { ...readTextHead(object), delta };
  }
  const isComplete = object.flag("isComplete") === true;
  return { ...readTextHead(object), ...(isComplete ? { full: content } : { delta: content }) };
}

/** A thought is a text, or an object with an id and a text. */
function readThought(object: EventObject): Text | MissingField {
  const head = readTextHead(object);
  const inner = object.object("thought");
  const full = inner?.text("content", "text", "thinking");
  if (inner !== undefined && full !== undefined) {
    const message = inner.id("id") ?? head.message;
    return { message, parent: calls.readParent(inner) ?? head.parent, full };
  }
  const text = inner === undefined ? object.text("thought") : undefined;
  if (text === undefined) return missingField("agent:thought without thought");
  return { ...head, full: text };
}

function readTasks(object: EventObject): Body | MissingField {
  const items = object.list("tasks", "todos");
  if (items === undefined) return missingField("tasks without tasks");
  return { type: "tasks", tasks: items.map((raw) => readTask(raw, object)) };
}

/** A task. One with missing fields still counts. */
function readTask(raw: string, list: EventObject): Task {
  const object = list.parseNested(raw);
  if (object === undefined) {
    list.noteUnknown("task without status");
    return { content: textOf(raw), status: "unknown" };
  }
  const content = object.text("content", "title", "text");
  if (content === undefined) object.noteUnknown("task without content");
  const word = object.word("status");
  const status = word === undefined ? undefined : taskFromName(word);
  if (status === undefined) object.noteUnknown(word ?? "task without status");
  return {
    id: object.id("id"),
    content: content ?? "",
    status: status ?? "unknown",
    active: object.text("activeForm"),
  };
}

function readActivity(object: EventObject): Body | MissingField {
  const kind = object.string("kind", "activityType");
  if (kind === undefined) return missingField("activity without kind");
  const activity: Activity = {
    kind,
    id: object.id("activityId", "id", "messageId"),
    content: object.json("content") ?? NULL,
  };
  return { type: "activity", activity };
}

function readStart(object: EventObject): Started {
  return {
    session: object.id("sessionId", "sessionKey", "conversationId"),
    parent: object.id("parentRunId"),
    agent: object.id("agent"),
    model: object.id("model"),
  };
}

function readTools(object: EventObject): Body | MissingField {
  const items = object.list("tools");
  if (items === undefined) return missingField("tools-available without tools");
  const tools: string[] = [];
  for (const raw of items) {
    const name = readToolName(raw, object);
    if (name === undefined) object.noteUnknown(`tool ${raw}`);
    else tools.push(name);
  }
  const ready = isReady(object);
  const version = object.number("version", "snapshotVersion");
  const available: ToolsAvailable = { version, ready, tools };
  return { type: "toolsAvailable", available };
}

/** Whether a tool list is complete. It is, unless the event states otherwise. */
function isReady(object: EventObject): boolean {
  const ready = object.flag("ready");
  if (ready !== undefined) return ready;
  const phase = object.word("phase");
  if (phase === undefined || phase === "ready") return true;
  if (phase !== "initializing") object.noteUnknown(phase);
  return false;
}

/** A tool is a name, or an object that has one. */
function readToolName(raw: string, list: EventObject): string | undefined {
  return stringOf(raw) ?? list.parseNested(raw)?.id("name");
}

/** An `unknown` event that we wrote ourselves. */
function readUnknown(object: EventObject): Body | MissingField {
  const kind = object.string("kind");
  if (kind === undefined || !object.has("raw")) return missingField(undefined);
  return { type: "unknown", kind, raw: object.json("raw") ?? NULL };
}

const NULL = Json.known("null");
