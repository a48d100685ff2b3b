/** Finds the request that an answer belongs to. */

import type { Event, Verdict } from "../event.js";
import { isSame } from "../share.js";
import { Json } from "../value.js";
import { type ApprovalState, hasId, isOpen } from "./asks.js";
import type { Run } from "./run.js";

/** A person's answer, and the request it is for. */
export interface Answer {
  /** The run of the request. */
  readonly run?: string | undefined;
  /** The call of the request. */
  readonly call?: string | undefined;
  /** The turn of the call, if ids are reused. */
  readonly turn?: number | undefined;
  /** The id of the request, if the call has several. */
  readonly id?: string | undefined;
  /** The decision. */
  readonly verdict: Verdict;
  /** The person's answer: any JSON value. */
  readonly answer?: unknown;
}

/** Why an answer is refused. Nothing is changed. */
export type AnswerError =
  /** The answer names no run. */
  | "run_required"
  /** The run is unknown. */
  | "run_mismatch"
  /** The run is over. */
  | "run_ended"
  /** The answer names no call. */
  | "call_id_required"
  /** The call is unknown in the run. */
  | "target_not_found"
  /** The call has no open request. */
  | "no_pending"
  /** Several calls with this id have open requests: the turn is needed. */
  | "ambiguous"
  /** The request has a different answer already. */
  | "already_resolved";

/** The route of an answer: an event to deliver, a repetition, or a refusal. */
export type AnswerRoute =
  | { readonly type: "deliver"; readonly event: Event }
  | { readonly type: "repeated" }
  | { readonly type: "refused"; readonly code: AnswerError };

/** Routes an answer. Repeating the same answer is not an error. */
export function routeAnswer(answer: Answer, runOf: (id: string) => Run | undefined): AnswerRoute {
  if (!answer.run) return refused("run_required");
  const run = runOf(answer.run);
  if (run === undefined) return refused("run_mismatch");
  if (!answer.call) return refused("call_id_required");
  const tools = run.table.candidates(answer.call, answer.turn);
  if (tools.length === 0) return refused("target_not_found");
  const value = Json.of(answer.answer ?? undefined);
  const isMatching = (request: ApprovalState) =>
    answer.id === undefined || hasId(request, answer.id);
  const requests = tools.flatMap((tool) =>
    tool.asks.filter(isMatching).map((request) => ({ turn: tool.turn ?? 0, request })),
  );
  const [only, ...others] = requests.filter(({ request }) => isOpen(request));
  const over = run.phase.type !== "running";
  if (only === undefined) {
    const last = requests[requests.length - 1]?.request;
    if (last?.verdict === answer.verdict && isSame(last.answer?.value, value?.value)) {
      return { type: "repeated" };
    }
    if (last !== undefined && last.verdict !== "cancelled") return refused("already_resolved");
    return refused(over ? "run_ended" : "no_pending");
  }
  if (others.length > 0) return refused("ambiguous");
  if (over) return refused("run_ended");
  const call = { id: answer.call, turn: only.turn };
  const reply = { call, id: only.request.id, verdict: answer.verdict, answer: value };
  return { type: "deliver", event: { run: run.id, body: { type: "replied", reply } } };
}

function refused(code: AnswerError): AnswerRoute {
  return { type: "refused", code };
}
