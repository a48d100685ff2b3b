/** What a call asks a person, and what became of it. */

import type { Change, Effect, Resolution } from "../effect.js";
import type { Ask, AskKind, Reply, Verdict } from "../event.js";
import type { Json } from "../value.js";
import type { Tool } from "./tool.js";

/** Something that a person was asked. */
export interface Asked {
  /** The request's id; the call's own if it has none. */
  id: string;
  /** The id that the request turned out to have, where we had only concluded that there is one. */
  alias: string | undefined;
  /** What is asked. */
  kind: AskKind;
  /** What a person reads. */
  prompt: string | undefined;
  /** The choices, in the agent's own form. */
  choices: Json | undefined;
  /** What was decided. */
  verdict: Verdict | undefined;
  /** What the person said. */
  answer: Json | undefined;
  /** Whether we only conclude from the tool's name that it asks. */
  concluded: boolean;
  /** Whether anybody asked; a decision may come first. */
  asked: boolean;
  shown: boolean;
  closed: boolean;
}

/** Whether somebody still has to decide. */
export function isOpen(asked: Asked): boolean {
  return asked.asked && asked.verdict === undefined;
}

/** Whether a request has this id. */
export function isCalled(asked: Asked, id: string): boolean {
  return asked.id === id || asked.alias === id;
}

/**
 * Takes a question. Tells whether it is new. If somebody has decided it before it was heard of,
 * whoever asks need not wait.
 */
export function ask(tool: Tool, asks: Ask, run: string, effects: Effect[]): boolean {
  const isNew = openAsk(tool, asks, false);
  const id = asks.id ?? tool.call;
  const asked = isNew ? tool.asks.find((asked) => isCalled(asked, id)) : undefined;
  if (asked?.verdict !== undefined) {
    const { verdict, answer } = asked;
    effects.push(resolve(asked, tool, run, { type: "replied", verdict, answer }));
  }
  return isNew;
}

/** A call that waits for a person has asked, told or not. */
export function concludeAsk(tool: Tool, kind: AskKind): void {
  if (tool.asks.length === 0) openAsk(tool, { call: {}, kind, choices: tool.input }, true);
}

/** Takes a decision: whoever waits for it gets it. Tells whether it is new. */
export function reply(tool: Tool, decision: Reply, run: string, effects: Effect[]): boolean {
  const id = decision.id ?? tool.call;
  // Without an id, or where the id is only our conclusion, the open question is meant.
  const isMeant = (asked: Asked) => isOpen(asked) && (decision.id === undefined || asked.concluded);
  const known = tool.asks.find((asked) => isCalled(asked, id)) ?? tool.asks.find(isMeant);
  if (known === undefined) {
    const kind = decision.verdict === "answered" ? "question" : "approval";
    const { verdict, answer } = decision;
    tool.asks.push({ ...fresh(id, kind), verdict, answer, asked: false });
    return true;
  }
  if (known.verdict !== undefined) return false;
  known.verdict = decision.verdict;
  known.answer = decision.answer;
  const { verdict, answer } = decision;
  effects.push(resolve(known, tool, run, { type: "replied", verdict, answer }));
  return true;
}

/** Nobody will answer any more: whoever waits is told. */
export function cancelAsks(tool: Tool, run: string, effects: Effect[]): void {
  for (const asked of tool.asks) {
    if (!isOpen(asked)) continue;
    asked.verdict = "cancelled";
    effects.push(resolve(asked, tool, run, { type: "cancelled" }));
  }
}

export function showAsks(tool: Tool, tell: (change: Change) => void): void {
  if (tool.asks.length === 0) return;
  const reference = tool.reference();
  for (const asked of tool.asks) {
    if (!asked.shown && isOpen(asked)) {
      asked.shown = true;
      const { id, kind, prompt, choices } = asked;
      const call = { id: reference.call, turn: reference.turn };
      tell({ type: "asked", tool: reference, ask: { call, id, kind, prompt, choices } });
    }
    if (asked.shown && !asked.closed && asked.verdict !== undefined) {
      asked.closed = true;
      const { id, verdict } = asked;
      tell({ type: "askClosed", tool: reference, id, verdict });
    }
  }
}

/** What whoever asked gets. */
function resolve(asked: Asked, tool: Tool, run: string, resolution: Resolution): Effect {
  const id = asked.alias ?? asked.id;
  return { type: "resolve", run, tool: tool.reference(), id, resolution };
}

function openAsk(tool: Tool, asks: Ask, concluded: boolean): boolean {
  const id = asks.id ?? tool.call;
  const known = tool.asks.find((asked) => isCalled(asked, id));
  if (known !== undefined) {
    const isNew = !known.asked || (known.concluded && !concluded);
    if (isNew) {
      known.asked = true;
      known.concluded = false;
      known.prompt = asks.prompt;
      known.choices = asks.choices ?? known.choices;
    }
    return isNew;
  }
  const guess = tool.asks.find((asked) => asked.concluded && isOpen(asked));
  if (guess !== undefined) {
    // The question itself, behind our conclusion that there will be one.
    guess.concluded = false;
    guess.kind = asks.kind;
    guess.prompt = asks.prompt;
    if (guess.shown) guess.alias = id;
    else guess.id = id;
    return true;
  }
  const { prompt, choices } = asks;
  tool.asks.push({ ...fresh(id, asks.kind), prompt, choices, concluded });
  return true;
}

function fresh(id: string, kind: AskKind): Asked {
  return {
    id,
    alias: undefined,
    kind,
    prompt: undefined,
    choices: undefined,
    verdict: undefined,
    answer: undefined,
    concluded: false,
    asked: true,
    shown: false,
    closed: false,
  };
}
