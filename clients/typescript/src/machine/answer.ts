/** Which question an answer is for. */

import type { Event, Verdict } from "../event.js";
import { isSame } from "../share.js";
import { Json } from "../value.js";
import { type Asked, isCalled, isOpen } from "./asks.js";
import type { Run } from "./run.js";

/** What somebody answers, and where. */
export interface Answer {
  /** The run that asked. */
  readonly run?: string | undefined;
  /** The call that asked. */
  readonly call?: string | undefined;
  /** The call's turn, where ids are used again. */
  readonly turn?: number | undefined;
  /** The request's own id, if the call asked several things. */
  readonly id?: string | undefined;
  /** What was decided. */
  readonly verdict: Verdict;
  /** What the person said: any JSON value. */
  readonly answer?: unknown;
}

/** Why an answer goes nowhere. Nothing was changed. */
export type AnswerError =
  /** It names no run. */
  | "run_required"
  /** No run of that name is known here. */
  | "run_mismatch"
  /** The run is over. */
  | "run_ended"
  /** It names no call. */
  | "call_id_required"
  /** No call of that name is known in the run. */
  | "target_not_found"
  /** The call exists and asks nothing. */
  | "no_pending"
  /** Calls of several turns have that id and ask: the turn is needed. */
  | "ambiguous"
  /** Something else was answered before. */
  | "already_resolved";

/** Where an answer goes: to an event, nowhere since it was given before, or nowhere at all. */
export type Found =
  | { readonly type: "deliver"; readonly event: Event }
  | { readonly type: "repeated" }
  | { readonly type: "refused"; readonly code: AnswerError };

/** Finds the question. The same answer again is no error. */
export function find(answer: Answer, runOf: (id: string) => Run | undefined): Found {
  if (!answer.run) return refused("run_required");
  const run = runOf(answer.run);
  if (run === undefined) return refused("run_mismatch");
  if (!answer.call) return refused("call_id_required");
  const tools = run.table.known(answer.call, answer.turn);
  if (tools.length === 0) return refused("target_not_found");
  const said = Json.of(answer.answer ?? undefined);
  const fits = (asked: Asked) => answer.id === undefined || isCalled(asked, answer.id);
  const asks = tools.flatMap((tool) =>
    tool.asks.filter(fits).map((asked) => ({ turn: tool.turn ?? 0, asked })),
  );
  const [only, ...others] = asks.filter(({ asked }) => isOpen(asked));
  const over = run.phase.type !== "running";
  if (only === undefined) {
    const known = asks[asks.length - 1]?.asked;
    if (known?.verdict === answer.verdict && isSame(known.answer?.value, said?.value)) {
      return { type: "repeated" };
    }
    if (known !== undefined && known.verdict !== "cancelled") return refused("already_resolved");
    return refused(over ? "run_ended" : "no_pending");
  }
  if (others.length > 0) return refused("ambiguous");
  if (over) return refused("run_ended");
  const call = { id: answer.call, turn: only.turn };
  const reply = { call, id: only.asked.id, verdict: answer.verdict, answer: said };
  return { type: "deliver", event: { run: run.id, body: { type: "replied", reply } } };
}

function refused(code: AnswerError): Found {
  return { type: "refused", code };
}
