/**
 * What an event says, whoever spelled it.
 *
 * A type that nobody knows, or one that lacks what it cannot do without, becomes `unknown` with
 * everything in it. What never happens here: an error because of something in an event that nobody
 * knows.
 */

import type { Unreadable } from "../effect.js";
import type { Activity, Body, Event, Started, Task, Text, ToolsAvailable } from "../event.js";
import { wellFormed } from "../text.js";
import { Json, isJson } from "../value.js";
import * as calls from "./calls.js";
import type { Lacking } from "./calls.js";
import * as ending from "./ending.js";
import { Fields, type Odd, stringOf, textOf } from "./object.js";
import { taskFromName } from "./words.js";
import { isPlace } from "./write.js";

/** An event, or why the text is none. */
export type Read =
  | { readonly event: Event }
  | { readonly event?: undefined; readonly why: Unreadable };

/** An event out of a JSON object. */
export function read(line: string): Read {
  const text = wellFormed(line);
  if (!isJson(text)) return { why: "not_json" };
  if (!/^[ \t\n\r]*\{/.test(text)) return { why: "not_object" };
  const odd: Odd = {};
  const object = new Fields(text, odd);
  const run = object.string("runId");
  if (!run) return { why: "no_run" };
  const kind = object.string("type");
  if (!kind) return { why: "no_type" };
  // What its first reader found strange stays.
  const known = object.string("odd");
  if (known) odd.word = known;
  let body = bodyOf(kind, object);
  if ("lacking" in body) {
    if (body.lacking !== undefined) object.note(body.lacking);
    body = { type: "unknown", kind, raw: Json.known(text.trim()) };
  }
  const epoch = object.number("epoch", "runEpoch");
  const seq = place(object);
  const at = object.number("at", "timestamp", "startedAt", "emittedAt", "terminalAt");
  return { event: { run, epoch, seq, at, odd: odd.word, body } };
}

function place(object: Fields): number | undefined {
  const seq = object.number("seq");
  if (seq === undefined || isPlace(seq)) return seq;
  object.note(`seq ${seq}`);
  return undefined;
}

/** The body of a type; `lacking` nothing in particular if nobody knows the type. */
function bodyOf(kind: string, object: Fields): Body | Lacking {
  switch (kind) {
    case "text":
    case "thought":
      return spoken(kind, said(object, `${kind} without delta`));
    case "agent:message":
      return spoken("text", message(object));
    case "agent:thought":
      return spoken("thought", thought(object));
    case "tool-call":
      return { type: "call", call: calls.call(object, calls.which(object)) };
    case "agent:tool-call":
      return { type: "call", call: calls.call(object, calls.whichOrId(object)) };
    case "tool-arguments":
      return calls.argumentsOf(object);
    case "tool-progress": {
      const content = object.json("content", "progress") ?? NOTHING;
      return { type: "progress", call: calls.which(object), content };
    }
    case "tool-result":
    case "agent:tool-result":
      return { type: "result", result: calls.result(object) };
    case "tool-cancelled":
      return { type: "cancelled", call: calls.which(object) };
    case "approval-asked":
      return { type: "asked", ask: calls.ask(object, "approval") };
    case "question-asked":
      return { type: "asked", ask: calls.ask(object, "question") };
    case "approval-answered":
    case "question-answered": {
      const reply = calls.reply(kind, object);
      return "lacking" in reply ? reply : { type: "replied", reply };
    }
    case "turn-started": {
      const turn = { turn: calls.turn(object), message: object.id("messageId") };
      return { type: "turn", turn };
    }
    case "usage": {
      const usage = ending.usageOf(object) ?? ending.usage(object);
      return usage === undefined ? lack("usage without tokens") : { type: "usage", usage };
    }
    case "tasks":
      return tasks(object);
    case "activity":
      return activity(object);
    case "error":
      return { type: "problem", problem: ending.problem(object, false) };
    case "agent:error":
      return { type: "problem", problem: ending.problem(object, true) };
    case "stop":
      return { type: "stop", stop: { grace: object.number("grace", "graceMs") ?? 0 } };
    case "timed-out":
      return { type: "timedOut", call: calls.whichIf(object) };
    case "run-started":
    case "agent:run-start":
      return { type: "started", started: started(object) };
    case "tools-available":
    case "agent:tools-available":
      return available(object);
    case "run-ended":
    case "agent:complete":
      return { type: "ended", ended: ending.ended(object) };
    case "unknown":
      return unknown(object);
    default:
      return lack(undefined);
  }
}

function lack(lacking: string | undefined): Lacking {
  return { lacking };
}

function spoken(type: "text" | "thought", text: Text | Lacking): Body | Lacking {
  return "lacking" in text ? text : { type, text };
}

/** The fields of a text that say nothing by themselves. */
const ABOUT = [
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
 * A piece of text, or all of it. One that says nothing is fine, unless it says it in a field that
 * nobody knows.
 */
function said(object: Fields, lacking: string): Text | Lacking {
  const delta = object.text("delta");
  const full = object.text("full", "text", "content");
  const says = delta !== undefined || full !== undefined;
  return says || object.hasOnly(ABOUT) ? { ...about(object), delta, full } : { lacking };
}

function about(object: Fields): Text {
  return { message: object.id("messageId"), parent: calls.parent(object) };
}

function message(object: Fields): Text | Lacking {
  const content = object.text("content");
  if (content === undefined) return lack("agent:message without content");
  const isComplete = object.flag("isComplete") === true;
  return { ...about(object), ...(isComplete ? { full: content } : { delta: content }) };
}

/** A thought is a text, or an object with an id and a text. */
function thought(object: Fields): Text | Lacking {
  const whole = about(object);
  const inner = object.object("thought");
  const full = inner?.text("content", "text", "thinking");
  if (inner !== undefined && full !== undefined) {
    const message = inner.id("id") ?? whole.message;
    return { message, parent: calls.parent(inner) ?? whole.parent, full };
  }
  const text = inner === undefined ? object.text("thought") : undefined;
  return text === undefined ? lack("agent:thought without thought") : { ...whole, full: text };
}

function tasks(object: Fields): Body | Lacking {
  const items = object.list("tasks", "todos");
  if (items === undefined) return lack("tasks without tasks");
  return { type: "tasks", tasks: items.map((raw) => task(raw, object)) };
}

/** A task that lacks something is still a line of the list. */
function task(raw: string, list: Fields): Task {
  const object = list.inside(raw);
  if (object === undefined) {
    list.note("task without status");
    return { content: textOf(raw), status: "unknown" };
  }
  const content = object.text("content", "title", "text");
  if (content === undefined) object.note("task without content");
  const word = object.word("status");
  const status = word === undefined ? undefined : taskFromName(word);
  if (status === undefined) object.note(word ?? "task without status");
  return {
    id: object.id("id"),
    content: content ?? "",
    status: status ?? "unknown",
    active: object.text("activeForm"),
  };
}

function activity(object: Fields): Body | Lacking {
  const kind = object.string("kind", "activityType");
  if (kind === undefined) return lack("activity without kind");
  const activity: Activity = {
    kind,
    id: object.id("activityId", "id", "messageId"),
    content: object.json("content") ?? NOTHING,
  };
  return { type: "activity", activity };
}

function started(object: Fields): Started {
  return {
    session: object.id("sessionId", "sessionKey", "conversationId"),
    parent: object.id("parentRunId"),
    agent: object.id("agent"),
    model: object.id("model"),
  };
}

function available(object: Fields): Body | Lacking {
  const items = object.list("tools");
  if (items === undefined) return lack("tools-available without tools");
  const tools: string[] = [];
  for (const raw of items) {
    const name = toolName(raw, object);
    if (name === undefined) object.note(`tool ${raw}`);
    else tools.push(name);
  }
  const ready = isReady(object);
  const version = object.number("version", "snapshotVersion");
  const available: ToolsAvailable = { version, ready, tools };
  return { type: "toolsAvailable", available };
}

/** A list that says nothing about more to come is the list. */
function isReady(object: Fields): boolean {
  const ready = object.flag("ready");
  if (ready !== undefined) return ready;
  const phase = object.word("phase");
  if (phase === undefined || phase === "ready") return true;
  if (phase !== "initializing") object.note(phase);
  return false;
}

/** A tool is a name, or an object that has one. */
function toolName(raw: string, list: Fields): string | undefined {
  return stringOf(raw) ?? list.inside(raw)?.id("name");
}

/** What we wrote about an event of a type that we did not know. */
function unknown(object: Fields): Body | Lacking {
  const kind = object.string("kind");
  if (kind === undefined || !object.has("raw")) return lack(undefined);
  return { type: "unknown", kind, raw: object.json("raw") ?? NOTHING };
}

const NOTHING = Json.known("null");
