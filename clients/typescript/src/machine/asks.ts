/** Approval requests and questions of a call. */

import type { Change, Effect, Resolution } from "../effect.js";
import type { Ask, AskKind, Reply, Verdict } from "../event.js";
import type { Json } from "../value.js";
import type { ToolCallState } from "./tool.js";

/** The state of an approval request or question. */
export interface ApprovalState {
  /** The id of the request; the id of the call if it has none. */
  id: string;
  /** The real id of a request that was inferred and already shown under another id. */
  alias: string | undefined;
  /** The kind of request. */
  kind: AskKind;
  /** The prompt for the person. */
  prompt: string | undefined;
  /** The choices, in the agent's own format. */
  choices: Json | undefined;
  /** The decision. */
  verdict: Verdict | undefined;
  /** The person's answer. */
  answer: Json | undefined;
  /** Whether the request is only inferred from the tool's name or status. */
  inferred: boolean;
  /** Whether the request itself has arrived; a reply may arrive first. */
  asked: boolean;
  shown: boolean;
  closed: boolean;
}

/** Whether the request is still undecided. */
export function isOpen(request: ApprovalState): boolean {
  return request.asked && request.verdict === undefined;
}

/** Whether a request has this id. */
export function hasId(request: ApprovalState, id: string): boolean {
  return request.id === id || request.alias === id;
}

/**
 * Adds a request. Returns whether it is new. If its reply arrived first, it is resolved at once.
 */
export function addRequest(tool: ToolCallState, ask: Ask, run: string, effects: Effect[]): boolean {
  const isNew = openRequest(tool, ask, false);
  const id = ask.id ?? tool.call;
  const request = isNew ? tool.asks.find((request) => hasId(request, id)) : undefined;
  if (request?.verdict !== undefined) {
    const { verdict, answer } = request;
    effects.push(resolve(request, tool, run, { type: "replied", verdict, answer }));
  }
  return isNew;
}

/** Infers a request for a call that waits for a person. */
export function inferRequest(tool: ToolCallState, kind: AskKind): void {
  if (tool.asks.length === 0) openRequest(tool, { call: {}, kind, choices: tool.input }, true);
}

/** Applies a reply and resolves its request. Returns whether it is new. */
export function applyReply(
  tool: ToolCallState,
  reply: Reply,
  run: string,
  effects: Effect[],
): boolean {
  const id = reply.id ?? tool.call;
  // Without an id, or if the request is only inferred, the open request is meant.
  const isMeant = (request: ApprovalState) =>
    isOpen(request) && (reply.id === undefined || request.inferred);
  const known = tool.asks.find((request) => hasId(request, id)) ?? tool.asks.find(isMeant);
  if (known === undefined) {
    const kind = reply.verdict === "answered" ? "question" : "approval";
    const { verdict, answer } = reply;
    tool.asks.push({ ...newRequest(id, kind), verdict, answer, asked: false });
    return true;
  }
  if (known.verdict !== undefined) return false;
  known.verdict = reply.verdict;
  known.answer = reply.answer;
  const { verdict, answer } = reply;
  effects.push(resolve(known, tool, run, { type: "replied", verdict, answer }));
  return true;
}

/** Cancels the open requests of a call. */
export function cancelRequests(tool: ToolCallState, run: string, effects: Effect[]): void {
  for (const request of tool.asks) {
    if (!isOpen(request)) continue;
    request.verdict = "cancelled";
    effects.push(resolve(request, tool, run, { type: "cancelled" }));
  }
}

export function showRequests(tool: ToolCallState, show: (change: Change) => void): void {
  if (tool.asks.length === 0) return;
  const reference = tool.reference();
  for (const request of tool.asks) {
    if (!request.shown && isOpen(request)) {
      request.shown = true;
      const { id, kind, prompt, choices } = request;
      const call = { id: reference.call, turn: reference.turn };
      show({ type: "asked", tool: reference, ask: { call, id, kind, prompt, choices } });
    }
    if (request.shown && !request.closed && request.verdict !== undefined) {
      request.closed = true;
      const { id, verdict } = request;
      show({ type: "askClosed", tool: reference, id, verdict });
    }
  }
}

/** The effect that resolves a request. */
function resolve(
  request: ApprovalState,
  tool: ToolCallState,
  run: string,
  resolution: Resolution,
): Effect {
  const id = request.alias ?? request.id;
  return { type: "resolve", run, tool: tool.reference(), id, resolution };
}

function openRequest(tool: ToolCallState, ask: Ask, inferred: boolean): boolean {
  const id = ask.id ?? tool.call;
  const known = tool.asks.find((request) => hasId(request, id));
  if (known !== undefined) {
    const isNew = !known.asked || (known.inferred && !inferred);
    if (isNew) {
      known.asked = true;
      known.inferred = false;
      known.prompt = ask.prompt;
      known.choices = ask.choices ?? known.choices;
    }
    return isNew;
  }
  const inferredRequest = tool.asks.find((request) => request.inferred && isOpen(request));
  if (inferredRequest !== undefined) {
    // The request that was inferred before.
    inferredRequest.inferred = false;
    inferredRequest.kind = ask.kind;
    inferredRequest.prompt = ask.prompt;
    if (inferredRequest.shown) inferredRequest.alias = id;
    else inferredRequest.id = id;
    return true;
  }
  const { prompt, choices } = ask;
  tool.asks.push({ ...newRequest(id, ask.kind), prompt, choices, inferred });
  return true;
}

function newRequest(id: string, kind: AskKind): ApprovalState {
  return {
    id,
    alias: undefined,
    kind,
    prompt: undefined,
    choices: undefined,
    verdict: undefined,
    answer: undefined,
    inferred: false,
    asked: true,
    shown: false,
    closed: false,
  };
}
