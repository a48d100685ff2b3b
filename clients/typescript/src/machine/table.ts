/**
 * The calls of a run, found by what an event says of them.
 *
 * Ids are unique within a turn only. An event that names no turn means the newest open call of
 * its id; calls without an id are told apart by their order in their turn.
 */

import type { CallRef } from "../event.js";
import { Queue } from "../queue.js";
import { Tool } from "./tool.js";

/** What the event is about to say. */
export type Purpose =
  /** That the call is made. */
  | { readonly type: "call"; readonly name: string | undefined; readonly complete: boolean }
  /** What came back. */
  | { readonly type: "answer" }
  /** Anything else. */
  | { readonly type: "remark" };

/** What came back. */
export const ANSWER: Purpose = { type: "answer" };
/** Anything else. */
export const REMARK: Purpose = { type: "remark" };

/** Calls without an id, of one turn: those that wait for an answer, and answers that wait. */
interface Nameless {
  readonly unanswered: Queue<Tool>;
  readonly uncalled: Queue<Tool>;
  last: Tool | undefined;
}

/** How far back is looked for a call whose turn nobody named. */
const NEAR = 8;

/** The calls of one id. */
class Places {
  newest: Tool | undefined;
  /** Those whose turn is known. */
  readonly #turns = new Map<number, Tool>();
  /** Those that may be open; what is settled is taken out when it is met. */
  readonly #open: Tool[] = [];
  /** Those that were heard of before anybody named their turn. */
  readonly #adrift: Tool[] = [];

  /** All of them: by turn, and then those whose turn nobody named. */
  all(): Tool[] {
    const turns = [...this.#turns].sort(([one], [other]) => one - other);
    const adrift = this.#adrift.filter((tool) => tool.turn === undefined);
    return [...turns.map(([, tool]) => tool), ...adrift];
  }

  add(tool: Tool, isAdrift: boolean): void {
    this.newest = tool;
    this.#open.push(tool);
    if (isAdrift) this.#adrift.push(tool);
  }

  /** Somebody named the turn of a call. */
  name(turn: number, tool: Tool): void {
    this.#turns.set(turn, tool);
  }

  exact(turn: number): Tool | undefined {
    return this.#turns.get(turn);
  }

  lastOpen(): Tool | undefined {
    return lastThat(this.#open, (tool) => tool.isOpen());
  }

  lastAdrift(): Tool | undefined {
    return lastThat(this.#adrift, (tool) => tool.turn === undefined);
  }

  /** An open call that came before anybody spoke of turns: one of the last few. */
  near(): Tool | undefined {
    const last: Tool[] = [];
    while (last.length < NEAR) {
      const tool = this.#open.pop();
      if (tool === undefined) break;
      if (tool.isOpen()) last.push(tool);
    }
    const found = last.find((tool) => !tool.explicit && (tool.turn ?? 0) === 0);
    this.#open.push(...last.reverse());
    return found;
  }
}

/** The last that still fits. What does not fit any more never will. */
function lastThat(tools: Tool[], fits: (tool: Tool) => boolean): Tool | undefined {
  for (let tool = tools.at(-1); tool !== undefined; tool = tools.at(-1)) {
    if (fits(tool)) return tool;
    tools.pop();
  }
  return undefined;
}

/** The calls of a run, in the order in which they were first heard of. */
export class Table {
  readonly tools: Tool[] = [];
  readonly #byId = new Map<string, Places>();
  readonly #children = new Map<string, Tool[]>();
  readonly #nameless = new Map<number, Nameless>();
  /** The turns that have nameless calls, in order. */
  readonly #turns: number[] = [];
  #locals = 0;

  /** The call that is meant; a new one if it has not been heard of. */
  find(run: string, call: CallRef, current: number, purpose: Purpose): Tool {
    return call.id === undefined || call.id === ""
      ? this.#findNameless(run, call.turn ?? current, purpose)
      : this.#findNamed(call.id, call.turn, current, purpose);
  }

  /** The calls that may be meant, of those that have been heard of. */
  known(id: string, turn: number | undefined): Tool[] {
    const places = this.#byId.get(id);
    if (turn === undefined) return places?.all() ?? [];
    const tool = places?.exact(turn);
    return tool === undefined ? [] : [tool];
  }

  /** The newest call of an id. */
  newest(id: string): Tool | undefined {
    return this.#byId.get(id)?.newest;
  }

  /** The calls that a call's sub-agent made. */
  children(parent: string): readonly Tool[] {
    return this.#children.get(parent) ?? [];
  }

  adopt(parent: string, child: Tool): void {
    const children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, [child]);
    else children.push(child);
  }

  #findNamed(id: string, turn: number | undefined, current: number, purpose: Purpose): Tool {
    const isCall = purpose.type === "call";
    const named = turn ?? (isCall ? current : undefined);
    const places = this.#places(id);
    const exact = named === undefined ? undefined : places.exact(named);
    const tool = exact ?? this.#guess(places, turn, isCall) ?? this.#add(id, named === undefined);
    // A turn that others may have seen stays as it is.
    if (named !== undefined && tool.turn === undefined) {
      tool.turn = named;
      tool.explicit = turn !== undefined;
      places.name(named, tool);
    }
    return tool;
  }

  /** The call that is most likely meant, where none of the id is of just that turn. */
  #guess(places: Places, turn: number | undefined, isCall: boolean): Tool | undefined {
    if (turn !== undefined) return (isCall ? places.lastAdrift() : undefined) ?? places.near();
    if (isCall) return places.lastAdrift() ?? places.lastOpen();
    return places.lastOpen() ?? places.newest;
  }

  #findNameless(run: string, turn: number, purpose: Purpose): Tool {
    const found = this.#knownNameless(turn, purpose);
    if (found !== undefined) return found;
    const tool = this.#add(this.#localId(run), false);
    tool.turn = turn;
    tool.explicit = true;
    this.#places(tool.call).name(turn, tool);
    const group = this.#group(turn);
    group.last = tool;
    (purpose.type === "answer" ? group.uncalled : group.unanswered).push(tool);
    return tool;
  }

  #knownNameless(turn: number, purpose: Purpose): Tool | undefined {
    const group = this.#nameless.get(turn);
    switch (purpose.type) {
      case "call": {
        const waiting = group?.uncalled.shift();
        if (waiting !== undefined) return waiting;
        const tool = group?.last;
        if (tool === undefined) return undefined;
        // A call that is still being written is completed by what is said next.
        const same = tool.name === undefined || tool.name === purpose.name;
        const unfinished = tool.isOpen() && tool.input === undefined;
        return same && unfinished && (purpose.complete || !tool.called) ? tool : undefined;
      }
      case "answer":
        return this.#unanswered(turn);
      case "remark":
        return group?.last?.isOpen() === true ? group.last : undefined;
    }
  }

  /** The oldest open call of this turn, or of one of the few before it. */
  #unanswered(turn: number): Tool | undefined {
    let tried = 0;
    for (let at = this.#turns.length - 1; at >= 0 && tried < 8; at -= 1) {
      const other = this.#turns[at];
      if (other === undefined || other > turn) continue;
      tried += 1;
      const waiting = this.#nameless.get(other)?.unanswered;
      while (waiting?.front()?.hasAnswer() === true) waiting.shift();
      const tool = waiting?.shift();
      if (tool !== undefined) return tool;
    }
    return undefined;
  }

  #group(turn: number): Nameless {
    let group = this.#nameless.get(turn);
    if (group === undefined) {
      group = { unanswered: new Queue(), uncalled: new Queue(), last: undefined };
      this.#nameless.set(turn, group);
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

  #add(call: string, isAdrift: boolean): Tool {
    const tool = new Tool(call);
    this.tools.push(tool);
    this.#places(call).add(tool, isAdrift);
    return tool;
  }

  #places(id: string): Places {
    let places = this.#byId.get(id);
    if (places === undefined) {
      places = new Places();
      this.#byId.set(id, places);
    }
    return places;
  }
}
