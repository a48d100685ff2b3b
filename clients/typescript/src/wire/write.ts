/** An event as one JSON object, on one line, field by field. */

import type { Body, CallRef, Ended, Event, Problem, Text, ToolResult, Usage } from "../event.js";
import { isFinal, ofHow } from "../status.js";
import type { Json } from "../value.js";
import { howAndWhy, howName, isError } from "./words.js";

/** An event as one JSON object, without a line break. */
export function write(event: Event): string {
  const pen = new Pen();
  pen.put("type", kindOf(event.body));
  pen.put("runId", event.run);
  pen.put("epoch", event.epoch);
  // What is no place would be read as none, so it is none.
  pen.put("seq", event.seq !== undefined && isPlace(event.seq) ? event.seq : undefined);
  pen.put("at", event.at);
  body(event.body, pen);
  pen.id("odd", event.odd);
  return pen.text();
}

/** Whether a number is a place in a run that every reader can hold exactly. */
export function isPlace(seq: number): boolean {
  return seq >= 1 && seq <= 2 ** 53;
}

/** Writes fields into an object, and leaves out what is not there. */
class Pen {
  readonly #fields: string[] = [];

  put(key: string, value: string | number | boolean | readonly string[] | undefined): void {
    if (value !== undefined) this.#fields.push(`"${key}":${JSON.stringify(value)}`);
  }

  /** An id that may be missing. An empty one is no id. */
  id(key: string, id: string | undefined): void {
    if (id !== "") this.put(key, id);
  }

  /** A value as it was spelled. `null` is no value. */
  json(key: string, json: Json | undefined): void {
    if (json !== undefined && json.raw !== "null") this.raw(key, json.raw);
  }

  raw(key: string, raw: string): void {
    this.#fields.push(`"${key}":${raw}`);
  }

  object(key: string, fields: (pen: Pen) => void): void {
    this.raw(key, written(fields));
  }

  text(): string {
    return `{${this.#fields.join()}}`;
  }
}

function written(fields: (pen: Pen) => void): string {
  const pen = new Pen();
  fields(pen);
  return pen.text();
}

/** The type of an event, as it is written. */
function kindOf(body: Body): string {
  switch (body.type) {
    case "started":
      return "run-started";
    case "toolsAvailable":
      return "tools-available";
    case "turn":
      return "turn-started";
    case "call":
      return "tool-call";
    case "arguments":
      return "tool-arguments";
    case "progress":
      return "tool-progress";
    case "result":
      return "tool-result";
    case "cancelled":
      return "tool-cancelled";
    case "asked":
      return `${body.ask.kind}-asked`;
    case "replied": {
      const { verdict } = body.reply;
      const isApproval = verdict === "allowed" || verdict === "denied";
      return isApproval ? "approval-answered" : "question-answered";
    }
    case "problem":
      return "error";
    case "timedOut":
      return "timed-out";
    case "ended":
      return "run-ended";
    case "text":
    case "thought":
    case "tasks":
    case "usage":
    case "activity":
    case "stop":
    case "unknown":
      return body.type;
  }
}

function body(body: Body, pen: Pen): void {
  switch (body.type) {
    case "started":
      pen.id("sessionId", body.started.session);
      pen.id("parentRunId", body.started.parent);
      pen.id("agent", body.started.agent);
      pen.id("model", body.started.model);
      break;
    case "toolsAvailable":
      pen.put("version", body.available.version);
      pen.put("ready", body.available.ready);
      pen.put("tools", body.available.tools);
      break;
    case "turn":
      pen.put("turn", body.turn.turn);
      pen.id("messageId", body.turn.message);
      break;
    case "text":
    case "thought":
      said(body.text, pen);
      break;
    case "call": {
      const { call, name, parent, input, title, status } = body.call;
      which(call, pen);
      pen.id("name", name);
      pen.id("parentToolCallId", parent);
      pen.json("input", input);
      pen.put("title", title);
      // A final status comes with the result.
      pen.put("status", status !== undefined && !isFinal(status) ? status : undefined);
      break;
    }
    case "arguments":
      which(body.call, pen);
      pen.put("delta", body.delta);
      break;
    case "progress":
      which(body.call, pen);
      pen.json("content", body.content);
      break;
    case "result":
      result(body.result, pen);
      break;
    case "cancelled":
      which(body.call, pen);
      break;
    case "asked":
      which(body.ask.call, pen);
      pen.id("requestId", body.ask.id);
      pen.put("prompt", body.ask.prompt);
      pen.json("choices", body.ask.choices);
      break;
    case "replied":
      which(body.reply.call, pen);
      pen.id("requestId", body.reply.id);
      pen.put("verdict", body.reply.verdict);
      pen.json("answer", body.reply.answer);
      break;
    case "tasks": {
      const tasks = body.tasks.map(({ id, content, status, active }) =>
        written((pen) => {
          pen.id("id", id);
          pen.put("content", content);
          pen.put("status", status);
          pen.put("activeForm", active);
        }),
      );
      pen.raw("tasks", `[${tasks.join()}]`);
      break;
    }
    case "usage":
      usage(body.usage, pen);
      break;
    case "activity":
      pen.put("kind", body.activity.kind);
      pen.id("activityId", body.activity.id);
      pen.json("content", body.activity.content);
      break;
    case "problem":
      problem(body.problem, pen);
      break;
    case "stop":
      pen.put("grace", body.stop.grace);
      break;
    case "timedOut":
      if (body.call === undefined) break;
      if (body.call.turn === undefined && !body.call.id) {
        // Some call, and not the run: the empty id says so.
        pen.put("toolCallId", "");
        pen.put("toolId", "");
      }
      which(body.call, pen);
      break;
    case "ended":
      ended(body.ended, pen);
      break;
    case "unknown":
      pen.put("kind", body.kind);
      pen.raw("raw", body.raw.raw);
      break;
  }
}

function said(text: Text, pen: Pen): void {
  pen.id("messageId", text.message);
  pen.id("parentToolCallId", text.parent);
  pen.put("delta", text.delta);
  pen.put("full", text.full);
}

/** A call under both names that readers know. */
function which(call: CallRef, pen: Pen): void {
  pen.id("toolCallId", call.id);
  pen.id("toolId", call.id);
  pen.put("turn", call.turn);
}

function result({ call, name, how, reason, content }: ToolResult, pen: Pen): void {
  const implied = ofHow(how);
  which(call, pen);
  pen.id("name", name);
  pen.put("status", implied.status);
  pen.put("isError", isError(how));
  const read = howAndWhy(how, reason);
  const isSame = implied.reason === undefined && read.how === how && read.reason === reason;
  // Status and reason alone would be read as something else.
  if (reason !== undefined && !isSame) pen.put("how", howName(how));
  pen.put("reason", reason ?? implied.reason);
  pen.json("content", content);
}

function usage(usage: Usage, pen: Pen): void {
  pen.object("tokenUsage", (pen) => {
    pen.put("input", usage.input);
    pen.put("output", usage.output);
    pen.put("cached", usage.cached);
    pen.put("reasoning", usage.reasoning);
  });
}

function problem({ message, code, fatal }: Problem, pen: Pen): void {
  pen.put("message", message);
  pen.id("code", code);
  pen.put("fatal", fatal);
}

function ended(ended: Ended, pen: Pen): void {
  pen.put("reason", ended.outcome);
  pen.put("finalContent", ended.text);
  const { problem: wrong, usage: cost } = ended;
  if (wrong !== undefined) pen.object("error", (pen) => problem(wrong, pen));
  if (cost !== undefined) usage(cost, pen);
}
