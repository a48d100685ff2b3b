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

/** The calls of a run, in the order in which they were first heard of. */
export class Table {
  readonly tools: Tool[] = [];
  readonly #byId = new Map<string, Tool[]>();
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

  /** The calls that are meant, if they have been heard of. */
  known(id: string, turn: number | undefined): Tool[] {
    const tools = this.#byId.get(id) ?? [];
    return tools.filter((tool) => turn === undefined || tool.turn === turn);
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

  #findNamed(
    id: string,
    turn: number | undefined,
    current: number,
    purpose: Purpose,
  ): Tool {
    const tools = this.#byId.get(id) ?? [];
    let tool: Tool | undefined;
    if (turn !== undefined) {
      tool =
        last(tools, (tool) => tool.turn === turn) ??
        last(tools, (tool) => !tool.explicit && isAdrift(tool, purpose));
    } else if (purpose.type === "call") {
      tool =
        last(tools, (tool) => tool.turn === current) ??
        last(tools, (tool) => tool.turn === undefined || tool.isOpen());
    } else {
      tool = last(tools, (tool) => tool.isOpen()) ?? tools[tools.length - 1];
    }
    tool ??= this.#add(id);
    // A turn that others may have seen stays as it is.
    if (turn !== undefined && tool.turn === undefined) {
      tool.turn = turn;
      tool.explicit = true;
    } else if (purpose.type === "call") {
      tool.turn ??= current;
    }
    return tool;
  }

  #findNameless(run: string, turn: number, purpose: Purpose): Tool {
    const found = this.#knownNameless(turn, purpose);
    if (found !== undefined) return found;
    const tool = this.#add(this.#localId(run));
    tool.turn = turn;
    tool.explicit = true;
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
      while (waiting?.front()?.isOpen() === false) waiting.shift();
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

  #add(call: string): Tool {
    const tool = new Tool(call);
    this.tools.push(tool);
    const same = this.#byId.get(call);
    if (same === undefined) this.#byId.set(call, [tool]);
    else same.push(tool);
    return tool;
  }
}

function last(tools: readonly Tool[], fits: (tool: Tool) => boolean): Tool | undefined {
  for (let at = tools.length - 1; at >= 0; at -= 1) {
    const tool = tools[at];
    if (tool !== undefined && fits(tool)) return tool;
  }
  return undefined;
}

/** Whether a call of which nobody knows the turn for sure may be the one that is meant. */
function isAdrift(tool: Tool, purpose: Purpose): boolean {
  return purpose.type === "call" ? !tool.called || tool.isOpen() : tool.isOpen();
}
