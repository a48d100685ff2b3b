/** Writes events as JSON. */

import type { Body, CallRef, Ended, Event, Problem, Text, ToolResult, Usage } from "../event.js";
import { isFinal, ofHow } from "../status.js";
import type { Json } from "../value.js";
import { howAndWhy, howName, isError } from "./words.js";

/** An event as one JSON object, without a line break. */
export function write(event: Event): string {
  const writer = new JsonFieldWriter();
  writer.put("type", typeName(event.body));
  writer.put("runId", event.run);
  writer.put("epoch", event.epoch);
  // An invalid place is left out, since readers would ignore it.
  writer.put("seq", event.seq !== undefined && isPlace(event.seq) ? event.seq : undefined);
  writer.put("at", event.at);
  writeBody(event.body, writer);
  writer.id("odd", event.odd);
  return writer.text();
}

/** Whether a number is a valid place that every reader can hold exactly. */
export function isPlace(seq: number): boolean {
  return seq >= 1 && seq <= 2 ** 53;
}

/** Writes the fields of an object. Missing values are left out. */
class JsonFieldWriter {
  readonly #fields: string[] = [];

  put(key: string, value: string | number | boolean | readonly string[] | undefined): void {
    if (value !== undefined) this.#fields.push(`"${key}":${JSON.stringify(value)}`);
  }

  /** An optional id. An empty id is left out. */
  id(key: string, id: string | undefined): void {
    if (id !== "") this.put(key, id);
  }

  /** A raw JSON value. `null` is left out. */
  json(key: string, json: Json | undefined): void {
    if (json !== undefined && json.raw !== "null") this.raw(key, json.raw);
  }

  raw(key: string, raw: string): void {
    this.#fields.push(`"${key}":${raw}`);
  }

  object(key: string, fields: (writer: JsonFieldWriter) => void): void {
    this.raw(key, writtenObject(fields));
  }

  text(): string {
    return `{${this.#fields.join()}}`;
  }
}

function writtenObject(fields: (writer: JsonFieldWriter) => void): string {
  const writer = new JsonFieldWriter();
  fields(writer);
  return writer.text();
}

/** The `type` field of an event. */
function typeName(body: Body): string {
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

function writeBody(body: Body, writer: JsonFieldWriter): void {
  switch (body.type) {
    case "started":
      writer.id("sessionId", body.started.session);
      writer.id("parentRunId", body.started.parent);
      writer.id("agent", body.started.agent);
      writer.id("model", body.started.model);
      break;
    case "toolsAvailable":
      writer.put("version", body.available.version);
      writer.put("ready", body.available.ready);
      writer.put("tools", body.available.tools);
      break;
    case "turn":
      writer.put("turn", body.turn.turn);
      writer.id("messageId", body.turn.message);
      break;
    case "text":
    case "thought":
      writeText(body.text, writer);
      break;
    case "call": {
      const { call, name, parent, input, title, status } = body.call;
      writeCallRef(call, writer);
      writer.id("name", name);
      writer.id("parentToolCallId", parent);
      writer.json("input", input);
      writer.put("title", title);
      // A final status comes with the result.
      writer.put("status", status !== undefined && !isFinal(status) ? status : undefined);
      break;
    }
    case "arguments":
      writeCallRef(body.call, writer);
      writer.put("delta", body.delta);
      break;
    case "progress":
      writeCallRef(body.call, writer);
      writer.json("content", body.content);
      break;
    case "result":
      writeResult(body.result, writer);
      break;
    case "cancelled":
      writeCallRef(body.call, writer);
      break;
    case "asked":
      writeCallRef(body.ask.call, writer);
      writer.id("requestId", body.ask.id);
      writer.put("prompt", body.ask.prompt);
      writer.json("choices", body.ask.choices);
      break;
    case "replied":
      writeCallRef(body.reply.call, writer);
      writer.id("requestId", body.reply.id);
      writer.put("verdict", body.reply.verdict);
      writer.json("answer", body.reply.answer);
      break;
    case "tasks": {
      const tasks = body.tasks.map(({ id, content, status, active }) =>
        writtenObject((writer) => {
          writer.id("id", id);
          writer.put("content", content);
          writer.put("status", status);
          writer.put("activeForm", active);
        }),
      );
      writer.raw("tasks", `[${tasks.join()}]`);
      break;
    }
    case "usage":
      writeUsage(body.usage, writer);
      break;
    case "activity":
      writer.put("kind", body.activity.kind);
      writer.id("activityId", body.activity.id);
      writer.json("content", body.activity.content);
      break;
    case "problem":
      writeProblem(body.problem, writer);
      break;
    case "stop":
      writer.put("grace", body.stop.grace);
      break;
    case "timedOut":
      if (body.call === undefined) break;
      if (body.call.turn === undefined && !body.call.id) {
        // An empty id marks that a call timed out, not the run.
        writer.put("toolCallId", "");
        writer.put("toolId", "");
      }
      writeCallRef(body.call, writer);
      break;
    case "ended":
      writeEnd(body.ended, writer);
      break;
    case "unknown":
      writer.put("kind", body.kind);
      writer.raw("raw", body.raw.raw);
      break;
  }
}

function writeText(text: Text, writer: JsonFieldWriter): void {
  writer.id("messageId", text.message);
  writer.id("parentToolCallId", text.parent);
  writer.put("delta", text.delta);
  writer.put("full", text.full);
}

/** A call reference, with the id under both names that readers know. */
function writeCallRef(call: CallRef, writer: JsonFieldWriter): void {
  writer.id("toolCallId", call.id);
  writer.id("toolId", call.id);
  writer.put("turn", call.turn);
}

function writeResult(result: ToolResult, writer: JsonFieldWriter): void {
  const { call, name, how, reason, content } = result;
  const implied = ofHow(how);
  writeCallRef(call, writer);
  writer.id("name", name);
  writer.put("status", implied.status);
  writer.put("isError", isError(how));
  const read = howAndWhy(how, reason);
  const isSame = implied.reason === undefined && read.how === how && read.reason === reason;
  // Status and reason alone would be read as a different outcome.
  if (reason !== undefined && !isSame) writer.put("how", howName(how));
  writer.put("reason", reason ?? implied.reason);
  writer.json("content", content);
}

function writeUsage(usage: Usage, writer: JsonFieldWriter): void {
  writer.object("tokenUsage", (writer) => {
    writer.put("input", usage.input);
    writer.put("output", usage.output);
    writer.put("cached", usage.cached);
    writer.put("reasoning", usage.reasoning);
  });
}

function writeProblem({ message, code, fatal }: Problem, writer: JsonFieldWriter): void {
  writer.put("message", message);
  writer.id("code", code);
  writer.put("fatal", fatal);
}

function writeEnd(ended: Ended, writer: JsonFieldWriter): void {
  writer.put("reason", ended.outcome);
  writer.put("finalContent", ended.text);
  const { problem: error, usage: tokens } = ended;
  if (error !== undefined) writer.object("error", (writer) => writeProblem(error, writer));
  if (tokens !== undefined) writeUsage(tokens, writer);
}
