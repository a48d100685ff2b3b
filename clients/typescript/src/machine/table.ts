/**
 * The calls of a run, and the lookup of the call that an event refers to.
 *
 * Ids are unique only within a turn. An event without a turn refers to the newest open call with
 * its id. Calls without an id are matched by their order in the turn.
 */

import type { CallRef } from "../event.js";
import { Queue } from "../queue.js";
import { ToolCallState } from "./tool.js";

/** Why a call is looked up. */
export type LookupPurpose =
  /** For a `tool-call` event. */
  | { readonly type: "call"; readonly name: string | undefined; readonly complete: boolean }
  /** For a tool result. */
  | { readonly type: "result" }
  /** For any other event. */
  | { readonly type: "other" };

export const RESULT: LookupPurpose = { type: "result" };
export const OTHER: LookupPurpose = { type: "other" };

/** The calls of one turn without an id: calls without a result, and results without a call. */
interface UnnamedCalls {
  readonly withoutResult: Queue<ToolCallState>;
  readonly withoutCall: Queue<ToolCallState>;
  last: ToolCallState | undefined;
}

/** How many open calls are searched for one without a named turn. */
const MAX_RECENT = 8;

/** The calls with one id. */
class CallPositions {
  newest: ToolCallState | undefined;
  /** Calls by turn. */
  readonly #turns = new Map<number, ToolCallState>();
  /** Calls that may be open. Settled ones are removed when they are found. */
  readonly #open: ToolCallState[] = [];
  /** Calls that were added without a turn. */
  readonly #withoutTurn: ToolCallState[] = [];

  /** All calls: by turn, then those without a turn. */
  all(): ToolCallState[] {
    const turns = [...this.#turns].sort(([one], [other]) => one - other);
    const withoutTurn = this.#withoutTurn.filter((tool) => tool.turn === undefined);
    return [...turns.map(([, tool]) => tool), ...withoutTurn];
  }

  add(tool: ToolCallState, hasNoTurn: boolean): void {
    this.newest = tool;
    this.#open.push(tool);
    if (hasNoTurn) this.#withoutTurn.push(tool);
  }

  /** Sets the turn of a call. */
  setTurn(turn: number, tool: ToolCallState): void {
    this.#turns.set(turn, tool);
  }

  ofTurn(turn: number): ToolCallState | undefined {
    return this.#turns.get(turn);
  }

  lastOpen(): ToolCallState | undefined {
    return lastMatching(this.#open, (tool) => tool.isOpen());
  }

  lastWithoutTurn(): ToolCallState | undefined {
    return lastMatching(this.#withoutTurn, (tool) => tool.turn === undefined);
  }

  /** One of the most recent open calls, if its turn was not named. */
  recentOpen(): ToolCallState | undefined {
    const last: ToolCallState[] = [];
    while (last.length < MAX_RECENT) {
      const tool = this.#open.pop();
      if (tool === undefined) break;
      if (tool.isOpen()) last.push(tool);
    }
    const found = last.find((tool) => !tool.explicit && (tool.turn ?? 0) === 0);
    this.#open.push(...last.reverse());
    return found;
  }
}

/** The last match. Calls that no longer match are removed, since they never will again. */
function lastMatching(
  tools: ToolCallState[],
  isMatching: (tool: ToolCallState) => boolean,
): ToolCallState | undefined {
  for (let tool = tools.at(-1); tool !== undefined; tool = tools.at(-1)) {
    if (isMatching(tool)) return tool;
    tools.pop();
  }
  return undefined;
}

/** The calls of a run, in the order of their first event. */
export class CallTable {
  readonly tools: ToolCallState[] = [];
  readonly #byId = new Map<string, CallPositions>();
  readonly #children = new Map<string, ToolCallState[]>();
  readonly #unnamed = new Map<number, UnnamedCalls>();
  /** The turns that have calls without an id, in order. */
  readonly #turns: number[] = [];
  #locals = 0;

  /** The call that an event refers to; a new one if it is unknown. */
  find(run: string, call: CallRef, current: number, purpose: LookupPurpose): ToolCallState {
    return call.id === undefined || call.id === ""
      ? this.#findUnnamed(run, call.turn ?? current, purpose)
      : this.#findById(call.id, call.turn, current, purpose);
  }

  /** The known calls that a reference may mean. */
  candidates(id: string, turn: number | undefined): ToolCallState[] {
    const positions = this.#byId.get(id);
    if (turn === undefined) return positions?.all() ?? [];
    const tool = positions?.ofTurn(turn);
    return tool === undefined ? [] : [tool];
  }

  /** The newest call with an id. */
  newest(id: string): ToolCallState | undefined {
    return this.#byId.get(id)?.newest;
  }

  /** The calls that a call's sub-agent made. */
  children(parent: string): readonly ToolCallState[] {
    return this.#children.get(parent) ?? [];
  }

  addChild(parent: string, child: ToolCallState): void {
    const children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, [child]);
    else children.push(child);
  }

  #findById(
    id: string,
    turn: number | undefined,
    current: number,
    purpose: LookupPurpose,
  ): ToolCallState {
    const isCall = purpose.type === "call";
    const namedTurn = turn ?? (isCall ? current : undefined);
    const positions = this.#positions(id);
    const exact = namedTurn === undefined ? undefined : positions.ofTurn(namedTurn);
    const known = exact ?? this.#guess(positions, turn, isCall);
    const tool = known ?? this.#add(id, namedTurn === undefined);
    // A turn that was already reported does not change.
    if (namedTurn !== undefined && tool.turn === undefined) {
      tool.turn = namedTurn;
      tool.explicit = turn !== undefined;
      positions.setTurn(namedTurn, tool);
    }
    return tool;
  }

  /** The most likely call if none with this id has exactly this turn. */
  #guess(
    positions: CallPositions,
    turn: number | undefined,
    isCall: boolean,
  ): ToolCallState | undefined {
    if (turn !== undefined) {
      return (isCall ? positions.lastWithoutTurn() : undefined) ?? positions.recentOpen();
    }
    if (isCall) return positions.lastWithoutTurn() ?? positions.lastOpen();
    return positions.lastOpen() ?? positions.newest;
  }

  #findUnnamed(run: string, turn: number, purpose: LookupPurpose): ToolCallState {
    const found = this.#knownUnnamed(turn, purpose);
    if (found !== undefined) return found;
    const tool = this.#add(this.#localId(run), false);
    tool.turn = turn;
    tool.explicit = true;
    this.#positions(tool.call).setTurn(turn, tool);
    const group = this.#group(turn);
    group.last = tool;
    (purpose.type === "result" ? group.withoutCall : group.withoutResult).push(tool);
    return tool;
  }

  #knownUnnamed(turn: number, purpose: LookupPurpose): ToolCallState | undefined {
    const group = this.#unnamed.get(turn);
    switch (purpose.type) {
      case "call": {
        const waiting = group?.withoutCall.shift();
        if (waiting !== undefined) return waiting;
        const tool = group?.last;
        if (tool === undefined) return undefined;
        // The next event completes a call that is still being written.
        const same = tool.name === undefined || tool.name === purpose.name;
        const unfinished = tool.isOpen() && tool.input === undefined;
        return same && unfinished && (purpose.complete || !tool.called) ? tool : undefined;
      }
      case "result":
        return this.#findWithoutResult(turn);
      case "other":
        return group?.last?.isOpen() === true ? group.last : undefined;
    }
  }

  /** The oldest call without a result in this turn, or in one of the few before it. */
  #findWithoutResult(turn: number): ToolCallState | undefined {
    let tried = 0;
    for (let at = this.#turns.length - 1; at >= 0 && tried < 8; at -= 1) {
      const other = this.#turns[at];
      if (other === undefined || other > turn) continue;
      tried += 1;
      const waiting = this.#unnamed.get(other)?.withoutResult;
      while (waiting?.front()?.hasResult() === true) waiting.shift();
      const tool = waiting?.shift();
      if (tool !== undefined) return tool;
    }
    return undefined;
  }

  #group(turn: number): UnnamedCalls {
    let group = this.#unnamed.get(turn);
    if (group === undefined) {
      group = { withoutResult: new Queue(), withoutCall: new Queue(), last: undefined };
      this.#unnamed.set(turn, group);
      let at = this.#turns.length;
      while (at > 0 && (this.#turns[at - 1] ?? 0) > turn) at -= 1;
      this.#turns.splice(at, 0, turn);
    }
    return group;
  }

  #localId(run: string): string {
    for (;;) {
      this.#locals += 1;
      const id = `local-${run}-${this.#locals}`;
      if (!this.#byId.has(id)) return id;
    }
  }

  #add(call: string, hasNoTurn: boolean): ToolCallState {
    const tool = new ToolCallState(call);
    this.tools.push(tool);
    this.#positions(call).add(tool, hasNoTurn);
    return tool;
  }

  #positions(id: string): CallPositions {
    let positions = this.#byId.get(id);
    if (positions === undefined) {
      positions = new CallPositions();
      this.#byId.set(id, positions);
    }
    return positions;
  }
}
