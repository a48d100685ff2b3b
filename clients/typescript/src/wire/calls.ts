/** What events say about calls: which one, what it is, how it ended, and who has to decide. */

import type {
  Ask,
  AskKind,
  Body,
  Call,
  CallRef,
  How,
  Reply,
  ToolResult,
  Verdict,
} from "../event.js";
import { type Reason, type Status, isFinal, reasonFromName, statusFromName } from "../status.js";
import { hasSpace } from "../text.js";
import { Json } from "../value.js";
import type { Fields } from "./object.js";
import { howAndWhy, howFromName, verdictFromName } from "./words.js";

/** What is missing that a type cannot do without. */
export interface Lacking {
  readonly lacking: string | undefined;
}

/** The names of a call's id. Agents use one or several of them. */
const IDS = ["toolCallId", "toolId", "toolUseId", "callId"];

/** Which call an event is about. */
export function which(object: Fields): CallRef {
  return { id: object.id(...IDS), turn: turn(object) };
}

/** Which call, where `id` is the call's own. */
export function whichOrId(object: Fields): CallRef {
  const call = which(object);
  return { id: call.id ?? object.id("id"), turn: call.turn };
}

/** Which call, if the event is about one: an empty id is a call without id. */
export function whichIf(object: Fields): CallRef | undefined {
  const call = which(object);
  const isOne =
    call.turn !== undefined || object.string(...IDS) !== undefined || call.id !== undefined;
  return isOne ? call : undefined;
}

/** The number of a turn. */
export function turn(object: Fields): number | undefined {
  const number = object.number("turn");
  if (number === undefined || number < 2 ** 32) return number;
  object.note(`turn ${number}`);
  return undefined;
}

/** The call whose sub-agent it comes from. */
export function parent(object: Fields): string | undefined {
  return object.id("parentToolCallId", "parentToolUseId", "parentToolId");
}

export function call(object: Fields, call: CallRef): Call {
  return {
    call,
    name: object.id("name", "toolName"),
    parent: parent(object),
    input: object.json("input", "args") ?? spelledArguments(object),
    title: object.text("title", "description"),
    status: status(object),
  };
}

export function argumentsOf(object: Fields): Body | Lacking {
  const delta = object.string("delta");
  if (delta === undefined) return { lacking: "tool-arguments without delta" };
  return { type: "arguments", call: which(object), delta };
}

export function result(object: Fields): ToolResult {
  const { how, reason } = howOf(object);
  return {
    call: which(object),
    name: object.id("name", "toolName"),
    how,
    reason,
    content: object.json("content", "result", "output"),
  };
}

export function ask(object: Fields, kind: AskKind): Ask {
  return {
    call: which(object),
    id: request(object),
    kind,
    prompt: object.text("prompt", "question", "message"),
    choices: object.json("choices", "options", "questions"),
  };
}

/** A decision. Without a word for it nothing is decided, least of all that a call may run. */
export function reply(kind: string, object: Fields): Reply | Lacking {
  const answer = object.json("answer", "answers");
  const verdict = verdictOf(kind, object, answer !== undefined);
  if (typeof verdict === "object") return verdict;
  return { call: which(object), id: request(object), verdict, answer };
}

function verdictOf(kind: string, object: Fields, answered: boolean): Verdict | Lacking {
  const word = object.word("verdict");
  if (word !== undefined) return verdictFromName(word) ?? { lacking: word };
  const approved = object.flag("approved");
  if (approved !== undefined) return approved ? "allowed" : "denied";
  const isAnswer = kind === "question-answered" && answered;
  return isAnswer ? "answered" : { lacking: `${kind} without verdict` };
}

/** Some agents put the arguments into a string. */
function spelledArguments(object: Fields): Json | undefined {
  const text = object.string("arguments");
  return (text === undefined ? undefined : Json.parse(text)) ?? object.json("arguments");
}

/** The status of a call that is open. A final one says nothing: it comes with the result. */
function status(object: Fields): Status | undefined {
  const asks = object.flag("requiresApproval") === true;
  const word = object.word("status");
  if (word === undefined) return asks ? "awaiting_approval" : undefined;
  const status = statusFromName(word);
  if (status === undefined) {
    object.note(word);
    return "unknown";
  }
  if (status === "pending" && asks) return "awaiting_approval";
  return isFinal(status) ? undefined : status;
}

function howOf(object: Fields): { how: How; reason?: Reason | undefined } {
  const reason = reasonOf(object);
  const exact = howFromName(object.string("how") ?? "");
  if (exact !== undefined) return { how: exact, reason };
  const byFlag: How = object.flag("isError") === true ? "error" : "ok";
  const word = object.word("status");
  let said: How = byFlag;
  if (word !== undefined) {
    const known = howFromName(word);
    if (known === undefined) object.note(word);
    said = known ?? byFlag;
  }
  // For some agents a call that came to its end is complete, error or not.
  return howAndWhy(said === "ok" ? byFlag : said, reason);
}

/** The reason, if it is one of ours. Sentences are what a person said, and nobody's business. */
function reasonOf(object: Fields): Reason | undefined {
  const word = object.word("reason");
  if (word === undefined) return undefined;
  const reason = reasonFromName(word);
  if (reason === undefined) object.note(hasSpace(word) ? "reason" : word);
  return reason;
}

function request(object: Fields): string | undefined {
  return object.id("requestId", "approvalId", "questionId", "id");
}
