/** Reads the parts of events that concern tool calls. */

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
import type { EventObject } from "./object.js";
import { howAndWhy, howFromName, verdictFromName } from "./words.js";

/** A missing field that the event type requires. */
export interface MissingField {
  readonly missing: string | undefined;
}

/** The field names of a call id. Agents use one or more of them. */
const IDS = ["toolCallId", "toolId", "toolUseId", "callId"];

/** The call that an event refers to. */
export function readCallRef(object: EventObject): CallRef {
  return { id: object.id(...IDS), turn: readTurn(object) };
}

/** The same, where `id` can also be the call id. */
export function readCallRefOrId(object: EventObject): CallRef {
  const call = readCallRef(object);
  return { id: call.id ?? object.id("id"), turn: call.turn };
}

/** The call, if the event refers to one. An empty id means a call without an id. */
export function readOptionalCallRef(object: EventObject): CallRef | undefined {
  const call = readCallRef(object);
  const isOne =
    call.turn !== undefined || object.string(...IDS) !== undefined || call.id !== undefined;
  return isOne ? call : undefined;
}

/** The turn number. */
export function readTurn(object: EventObject): number | undefined {
  const number = object.number("turn");
  if (number === undefined || number < 2 ** 32) return number;
  object.noteUnknown(`turn ${number}`);
  return undefined;
}

/** The call whose sub-agent it comes from. */
export function readParent(object: EventObject): string | undefined {
  return object.id("parentToolCallId", "parentToolUseId", "parentToolId");
}

export function readCall(object: EventObject, call: CallRef): Call {
  return {
    call,
    name: object.id("name", "toolName"),
    parent: readParent(object),
    input: object.json("input", "args") ?? readStringArguments(object),
    title: object.text("title", "description"),
    status: readStatus(object),
  };
}

export function readArguments(object: EventObject): Body | MissingField {
  const delta = object.string("delta");
  if (delta === undefined) return { missing: "tool-arguments without delta" };
  return { type: "arguments", call: readCallRef(object), delta };
}

export function readResult(object: EventObject): ToolResult {
  const { how, reason } = readOutcome(object);
  return {
    call: readCallRef(object),
    name: object.id("name", "toolName"),
    how,
    reason,
    content: object.json("content", "result", "output"),
  };
}

export function readApprovalRequest(object: EventObject, kind: AskKind): Ask {
  return {
    call: readCallRef(object),
    id: readRequestId(object),
    kind,
    prompt: object.text("prompt", "question", "message"),
    choices: object.json("choices", "options", "questions"),
  };
}

/** A reply. Without an explicit verdict nothing is decided, so no call is allowed by mistake. */
export function readApprovalReply(kind: string, object: EventObject): Reply | MissingField {
  const answer = object.json("answer", "answers");
  const verdict = readVerdict(kind, object, answer !== undefined);
  if (typeof verdict === "object") return verdict;
  return { call: readCallRef(object), id: readRequestId(object), verdict, answer };
}

function readVerdict(kind: string, object: EventObject, answered: boolean): Verdict | MissingField {
  const word = object.word("verdict");
  if (word !== undefined) return verdictFromName(word) ?? { missing: word };
  const approved = object.flag("approved");
  if (approved !== undefined) return approved ? "allowed" : "denied";
  const isAnswer = kind === "question-answered" && answered;
  return isAnswer ? "answered" : { missing: `${kind} without verdict` };
}

/** The arguments. Some agents encode them as a string. */
function readStringArguments(object: EventObject): Json | undefined {
  const text = object.string("arguments");
  return (text === undefined ? undefined : Json.parse(text)) ?? object.json("arguments");
}

/** The status of an open call. A final status is ignored, since it comes with the result. */
function readStatus(object: EventObject): Status | undefined {
  const needsApproval = object.flag("requiresApproval") === true;
  const word = object.word("status");
  if (word === undefined) return needsApproval ? "awaiting_approval" : undefined;
  const status = statusFromName(word);
  if (status === undefined) {
    object.noteUnknown(word);
    return "unknown";
  }
  if (status === "pending" && needsApproval) return "awaiting_approval";
  return isFinal(status) ? undefined : status;
}

function readOutcome(object: EventObject): { how: How; reason?: Reason | undefined } {
  const reason = readReason(object);
  const exact = howFromName(object.string("how") ?? "");
  if (exact !== undefined) return { how: exact, reason };
  const byFlag: How = object.flag("isError") === true ? "error" : "ok";
  const word = object.word("status");
  let outcome: How = byFlag;
  if (word !== undefined) {
    const known = howFromName(word);
    if (known === undefined) object.noteUnknown(word);
    outcome = known ?? byFlag;
  }
  // Some agents report `completed` for every ended call, failed or not.
  return howAndWhy(outcome === "ok" ? byFlag : outcome, reason);
}

/** The reason, if it is a known one. Free text is private to the person and is not noted. */
function readReason(object: EventObject): Reason | undefined {
  const word = object.word("reason");
  if (word === undefined) return undefined;
  const reason = reasonFromName(word);
  if (reason === undefined) object.noteUnknown(hasSpace(word) ? "reason" : word);
  return reason;
}

function readRequestId(object: EventObject): string | undefined {
  return object.id("requestId", "approvalId", "questionId", "id");
}
