/** Applies events to their run. */

import type { Call, CallRef, Event, Text, ToolResult, Turn, Usage, Verdict } from "../event.js";
import type { Task, ToolsAvailable } from "../event.js";
import type { Settings } from "../settings.js";
import type { Json } from "../value.js";
import { addRequest, applyReply, cancelRequests, inferRequest } from "./asks.js";
import type { Run } from "./run.js";
import { type LookupPurpose, OTHER, RESULT } from "./table.js";
import { writtenTasks } from "./tasks.js";
import type { TextKind } from "./texts.js";
import type { ToolCallState } from "./tool.js";
import type { RunContext } from "./world.js";

/** What an event changed. */
export type EventImpact =
  | "none"
  | "some"
  /** A question was handed over to a person. The log records that, not the answer. */
  | "handedOver"
  /** This call was canceled; calls of its sub-agents must be closed, too. */
  | { readonly closed: ToolCallState }
  /** This call was made by a sub-agent of a call that had been canceled. */
  | { readonly orphaned: ToolCallState };

/** Applies an event, except that it does not end the run. */
export function applyEvent(run: Run, event: Event, context: RunContext): EventImpact {
  const { body } = event;
  switch (body.type) {
    case "started":
      return "none";
    case "toolsAvailable":
      return applyTools(run, body.available, context);
    case "turn":
      return startTurn(run, body.turn, context);
    case "text":
    case "thought":
      return applyText(run, body.type, body.text, context);
    case "call":
      return applyCall(run, body.call, context);
    case "arguments":
      return updateCall(run, body.call, OTHER, context, (tool) => {
        const open = tool.isOpen() && tool.input === undefined;
        if (open) tool.arguments += body.delta;
        return open;
      });
    case "progress":
      return applyProgress(run, body.call, body.content, context);
    case "result":
      return applyResult(run, body.result, context);
    case "cancelled":
      return updateCall(run, body.call, RESULT, context, (tool) => {
        const open = tool.isOpen();
        const status = tool.statusWhenClosed();
        release(run, tool, context);
        tool.close(status, "called_off");
        return open;
      });
    case "asked":
      return updateCall(
        run,
        body.ask.call,
        OTHER,
        context,
        (tool) => tool.isOpen() && addRequest(tool, body.ask, run.id, context.effects),
      );
    case "replied":
      return updateCall(run, body.reply.call, OTHER, context, (tool) => {
        if (!tool.isOpen()) {
          return body.reply.verdict === "denied" && tool.deny(context.settings);
        }
        const isNew = applyReply(tool, body.reply, run.id, context.effects);
        if (isNew) applyVerdict(tool, body.reply.verdict, context.settings);
        return isNew;
      });
    case "tasks":
      applyTasks(run, body.tasks, context);
      return "some";
    case "usage":
      return applyUsage(run, body.usage, context);
    case "activity":
      run.showChange({ type: "activity", activity: body.activity }, context);
      return "some";
    case "problem":
      if (!body.problem.fatal) run.showChange({ type: "problem", problem: body.problem }, context);
      return "some";
    case "timedOut":
      return body.call === undefined
        ? "some"
        : applyResult(run, { call: body.call, how: "timed_out" }, context);
    case "stop":
    case "ended":
      return "some";
    case "unknown":
      if (event.odd === undefined) {
        const warning = { code: "unknown_word", run: run.id, word: body.kind } as const;
        context.effects.push({ type: "warn", warning });
      }
      return "some";
  }
}

/** Cancels the open requests of a call, and stops it if it is running. */
export function release(run: Run, tool: ToolCallState, context: RunContext): void {
  if (tool.status() === "running") {
    context.effects.push({ type: "callOff", run: run.id, tool: tool.reference() });
  }
  cancelRequests(tool, run.id, context.effects);
}

/** Ends the current step, if there is one. */
export function endStep(run: Run, context: RunContext): void {
  if (run.step !== undefined) run.showChange({ type: "stepEnded", turn: run.step }, context);
  run.step = undefined;
}

function applyTools(run: Run, available: ToolsAvailable, context: RunContext): EventImpact {
  const known = run.available;
  // A list without a version is older than any list with one.
  const version = (list: ToolsAvailable) => list.version ?? -1;
  const newer =
    known === undefined || (!isSame(known, available) && version(known) <= version(available));
  if (newer) {
    run.available = available;
    run.showChange({ type: "toolsAvailable", available }, context);
  }
  return impactIf(newer);
}

function isSame(one: ToolsAvailable, other: ToolsAvailable): boolean {
  return (
    one.version === other.version &&
    one.ready === other.ready &&
    one.tools.length === other.tools.length &&
    one.tools.every((tool, at) => tool === other.tools[at])
  );
}

function startTurn(run: Run, turn: Turn, context: RunContext): EventImpact {
  const same = turn.message !== undefined && turn.message === run.message;
  const next = turn.turn ?? run.turn + 1;
  if (same || next <= run.turn) return "none";
  run.texts.close(run.id, context.effects);
  endStep(run, context);
  run.turn = next;
  run.message = turn.message;
  run.step = next;
  run.showChange({ type: "stepStarted", turn: next }, context);
  return "some";
}

function applyText(run: Run, kind: TextKind, text: Text, context: RunContext): EventImpact {
  return impactIf(run.texts.take(kind, text, run.id, context.effects));
}

function applyCall(run: Run, call: Call, context: RunContext): EventImpact {
  const complete = call.input !== undefined;
  const purpose: LookupPurpose = { type: "call", name: call.name, complete };
  const tool = run.table.find(run.id, call.call, run.turn, purpose);
  if (!tool.called) run.texts.close(run.id, context.effects);
  const open = tool.isOpen();
  const adopted = tool.parent === undefined && call.parent !== undefined;
  const wasListed = tasksOf(tool) !== undefined;
  const isNew = mergeCall(tool, call, context.settings);
  const closed = open && closesChildren(tool);
  show(run, tool, context);
  const tasks = wasListed ? undefined : tasksOf(tool);
  if (tasks !== undefined) applyTasks(run, tasks, context);
  if (adopted && call.parent !== undefined) {
    run.table.addChild(call.parent, tool);
    // Calls that sub-agents of a canceled call still start are closed, too.
    const parent = run.table.newest(call.parent);
    if (parent !== undefined && closesChildren(parent)) return { orphaned: tool };
  }
  return closed ? { closed: tool } : impactIf(isNew);
}

/** The task list that a call writes. Task lists of sub-agents do not count. */
function tasksOf({ name, input, parent }: ToolCallState): readonly Task[] | undefined {
  if (name === undefined || input === undefined || parent !== undefined) return undefined;
  return writtenTasks(name, input);
}

/** Applies a task list. A list that arrives as a call and as an event is shown once. */
function applyTasks(run: Run, tasks: readonly Task[], context: RunContext): void {
  const isNew = context.tasks.replace(run.id, run.epoch, tasks);
  if (isNew) run.showChange({ type: "tasks", tasks }, context);
}

/** Merges new facts about a call. Returns whether anything changed. */
function mergeCall(tool: ToolCallState, call: Call, settings: Settings): boolean {
  const known = (): string =>
    [
      tool.called,
      tool.begun,
      tool.odd,
      tool.name !== undefined,
      tool.title !== undefined,
      tool.parent !== undefined,
      tool.input !== undefined,
      tool.asks.length,
      tool.status(),
    ].join();
  const before = known();
  tool.called = true;
  tool.setName(call.name, settings);
  tool.title ??= call.title;
  tool.parent ??= call.parent;
  tool.input ??= call.input;
  // A final status comes with the result.
  if (call.status === "running") tool.begun = true;
  if (call.status === "unknown") tool.odd = true;
  const waits = call.status === "awaiting_approval";
  if (tool.isOpen() && tool.isInteractive(settings)) {
    if (waits || tool.input !== undefined) inferRequest(tool, "question");
  } else if (tool.isOpen() && waits) {
    inferRequest(tool, "approval");
  }
  return before !== known();
}

function applyProgress(run: Run, call: CallRef, content: Json, context: RunContext): EventImpact {
  const tool = run.table.find(run.id, call, run.turn, OTHER);
  if (!tool.isOpen()) return "none";
  tool.begun = true;
  show(run, tool, context);
  const reference = tool.reference();
  if (tool.called) run.showChange({ type: "toolProgress", tool: reference, content }, context);
  return "some";
}

function applyResult(run: Run, result: ToolResult, context: RunContext): EventImpact {
  const apply = (tool: ToolCallState) => tool.applyResult(result, context.settings);
  const impact = updateCall(run, result.call, RESULT, context, apply);
  // At the end of a run, calls of sub-agents are closed one by one.
  const alone = result.reason === "run_ended" && typeof impact === "object" && "closed" in impact;
  return alone ? "some" : impact;
}

/** Applies a person's decision to the call. */
function applyVerdict(tool: ToolCallState, verdict: Verdict, settings: Settings): void {
  switch (verdict) {
    case "denied":
      tool.applyResult({ call: {}, how: "denied" }, settings);
      break;
    case "answered":
      tool.begun = true;
      break;
    case "allowed":
    case "cancelled":
      break;
  }
}

/** Applies reported token usage. */
export function applyUsage(run: Run, reported: Usage, context: RunContext): EventImpact {
  // Reported counts are totals, so the greater one is newer.
  const { usage } = run;
  const sum: Usage = {
    input: Math.max(usage.input, reported.input),
    output: Math.max(usage.output, reported.output),
    cached: Math.max(usage.cached, reported.cached),
    reasoning: Math.max(usage.reasoning, reported.reasoning),
  };
  const isNew =
    sum.input !== usage.input ||
    sum.output !== usage.output ||
    sum.cached !== usage.cached ||
    sum.reasoning !== usage.reasoning;
  if (isNew) {
    run.usage = sum;
    run.showChange({ type: "usage", usage: sum }, context);
  }
  return impactIf(isNew);
}

/** Finds the call, changes it, and shows the changes. */
function updateCall(
  run: Run,
  call: CallRef,
  purpose: LookupPurpose,
  context: RunContext,
  apply: (tool: ToolCallState) => boolean,
): EventImpact {
  const tool = run.table.find(run.id, call, run.turn, purpose);
  const isNew = apply(tool);
  show(run, tool, context);
  if (!isNew) return "none";
  if (tool.settled === "handed_over") return "handedOver";
  return closesChildren(tool) ? { closed: tool } : "some";
}

/**
 * Whether open calls of a call's sub-agents are closed with it. At the end of a run, each call is
 * closed separately.
 */
function closesChildren({ settled, reason }: ToolCallState): boolean {
  const calledOff = settled === "cancelled" || settled === "interrupted" || settled === "denied";
  return calledOff && reason !== "run_ended";
}

/** Shows the changes of a call. A closed call has no open requests. */
function show(run: Run, tool: ToolCallState, context: RunContext): void {
  if (!tool.isOpen()) cancelRequests(tool, run.id, context.effects);
  tool.show(false, (change) => run.showChange(change, context));
}

function impactIf(isNew: boolean): EventImpact {
  return isNew ? "some" : "none";
}
