/** The end of a run, what it cost and what went wrong. */

import type { Ended, Problem, Usage } from "../event.js";
import { type Outcome, outcomeFromName } from "../status.js";
import { type Fields, textOf } from "./object.js";

export function ended(object: Fields): Ended {
  // In this order, since the first strange thing is the one that is told.
  const how = outcome(object);
  const text = object.text("finalContent", "text", "result");
  const raw = object.raw("error");
  return { outcome: how, text, problem: wrong(object, raw), usage: usageOf(object) };
}

/** What went wrong: in the object itself, or in its `error`. That something did is all it takes. */
export function problem(object: Fields, fatal: boolean): Problem {
  const inner = object.object("error");
  const told = inner?.text("message", "error");
  const message = object.text("message") ?? told ?? object.text("error", "errorText");
  if (message === undefined) object.note("error without message");
  return {
    message: message ?? "",
    code: object.id("code") ?? inner?.id("code"),
    fatal: object.flag("fatal") ?? fatal,
  };
}

/** The costs inside of an event. */
export function usageOf(object: Fields): Usage | undefined {
  const raw = object.raw("tokenUsage", "usage");
  if (raw === undefined) return undefined;
  const inner = object.inside(raw);
  const found = inner === undefined ? undefined : usage(inner);
  if (found === undefined) object.note("usage without tokens");
  return found;
}

/** Costs, in the words of whoever counted them; nothing if there is no count at all. */
export function usage(object: Fields): Usage | undefined {
  const readDetails = object.object("inputTokensDetails", "promptTokensDetails");
  const writtenDetails = object.object("outputTokensDetails", "completionTokensDetails");
  const count = (names: string[], details?: Fields) => {
    const place = object.raw(...names) === undefined ? details : object;
    return place?.raw(...names) === undefined ? undefined : (place.number(...names) ?? 0);
  };
  const input = count(INPUT);
  const output = count(OUTPUT);
  const cached = count(CACHED, readDetails);
  const reasoning = count(REASONING, writtenDetails);
  if ((input ?? output ?? cached ?? reasoning) === undefined) return undefined;
  return {
    input: input ?? 0,
    output: output ?? 0,
    cached: cached ?? 0,
    reasoning: reasoning ?? 0,
  };
}

const INPUT = ["input", "inputTokens", "promptTokens", "promptTokenCount"];
const OUTPUT = ["output", "outputTokens", "completionTokens", "candidatesTokenCount"];
const CACHED = [
  "cached",
  "cachedTokens",
  "cachedInputTokens",
  "cacheReadInputTokens",
  "cacheReadTokens",
  "cachedContentTokenCount",
];
const REASONING = ["reasoning", "reasoningTokens", "reasoningOutputTokens", "thoughtsTokenCount"];

/** How the run ended. A word that nobody knows is an end, and not a good one. */
function outcome(object: Fields): Outcome | undefined {
  const word = object.word("reason", "outcome", "terminalReason");
  if (word === undefined) return undefined;
  const known = outcomeFromName(word);
  if (known === undefined) object.note(word);
  return known ?? "failed";
}

function wrong(object: Fields, raw: string | undefined): Problem | undefined {
  if (raw === undefined) return undefined;
  const inner = object.inside(raw);
  const told = inner?.raw("message") === undefined ? undefined : inner;
  return told === undefined ? { message: textOf(raw), fatal: true } : problem(told, true);
}
