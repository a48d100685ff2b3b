/** Reads the end of a run, its token usage and its errors. */

import type { Ended, Problem, Usage } from "../event.js";
import { type Outcome, outcomeFromName } from "../status.js";
import { type EventObject, textOf } from "./object.js";

export function readEnd(object: EventObject): Ended {
  // The order matters: only the first unknown value is kept.
  const how = readOutcome(object);
  const text = object.text("finalContent", "text", "result");
  const raw = object.raw("error");
  return { outcome: how, text, problem: readError(object, raw), usage: readNestedUsage(object) };
}

/** An error, in the object itself or in its `error` field. It may lack a message. */
export function readProblem(object: EventObject, fatal: boolean): Problem {
  const inner = object.object("error");
  const nested = inner?.text("message", "error");
  const message = object.text("message") ?? nested ?? object.text("error", "errorText");
  if (message === undefined) object.noteUnknown("error without message");
  return {
    message: message ?? "",
    code: object.id("code") ?? inner?.id("code"),
    fatal: object.flag("fatal") ?? fatal,
  };
}

/** Nested token usage of an event. */
export function readNestedUsage(object: EventObject): Usage | undefined {
  const raw = object.raw("tokenUsage", "usage");
  if (raw === undefined) return undefined;
  const inner = object.parseNested(raw);
  const found = inner === undefined ? undefined : readUsage(inner);
  if (found === undefined) object.noteUnknown("usage without tokens");
  return found;
}

/** Token usage, in the field names of several providers; undefined if there is no count. */
export function readUsage(object: EventObject): Usage | undefined {
  const readDetails = object.object("inputTokensDetails", "promptTokensDetails");
  const writtenDetails = object.object("outputTokensDetails", "completionTokensDetails");
  const count = (names: string[], details?: EventObject) => {
    const source = object.raw(...names) === undefined ? details : object;
    return source?.raw(...names) === undefined ? undefined : (source.number(...names) ?? 0);
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

/** The outcome. An unknown name counts as failed. */
function readOutcome(object: EventObject): Outcome | undefined {
  const word = object.word("reason", "outcome", "terminalReason");
  if (word === undefined) return undefined;
  const known = outcomeFromName(word);
  if (known === undefined) object.noteUnknown(word);
  return known ?? "failed";
}

function readError(object: EventObject, raw: string | undefined): Problem | undefined {
  if (raw === undefined) return undefined;
  const inner = object.parseNested(raw);
  const withMessage = inner?.raw("message") === undefined ? undefined : inner;
  if (withMessage === undefined) return { message: textOf(raw), fatal: true };
  return readProblem(withMessage, true);
}
