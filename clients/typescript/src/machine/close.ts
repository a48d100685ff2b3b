/** The end of a run. It is decided once, and everything is closed before it. */

import type { Ended, Event, How, ToolResult } from "../event.js";
import type { Outcome, Reason, Status } from "../status.js";
import { isBlank } from "../text.js";
import { applyUsage, endStep, release } from "./change.js";
import type { EventOrigin, Run } from "./run.js";
import type { ToolCallState } from "./tool.js";
import type { RunContext } from "./world.js";

/** How long the source of an ended run is drained, in milliseconds. */
const DRAIN_MS = 3_000;

/**
 * Decides the outcome. A second decision has no effect, except that a second stop without grace
 * ends the wait for running tools.
 */
export function decide(
  run: Run,
  { ended, grace }: { ended: Ended; grace: number },
  at: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  switch (run.phase.type) {
    case "ended":
      return;
    case "stopping":
      if (origin === "source" && grace === 0) {
        end(run, run.phase.ended, undefined, at, origin, context);
      }
      return;
    case "running":
      run.texts.close(run.id, context.effects);
      if (origin === "log") {
        // The writer of the log also closed the run, so the rest arrives soon.
        const deadline = context.clock.later(grace + context.settings.wait);
        run.phase = { type: "stopping", ended, deadline };
        return;
      }
      releaseTools(run, at, context);
      if (grace === 0 || run.unfinished.length === 0) {
        end(run, ended, undefined, at, origin, context);
      } else {
        run.phase = { type: "stopping", ended, deadline: context.clock.later(grace) };
      }
  }
}

/** Ends a stopping run once its running tools are done. */
export function endIfSettled(run: Run, at: number | undefined, context: RunContext): void {
  if (run.phase.type !== "stopping" || run.origin === "log") return;
  while (run.unfinished[run.unfinished.length - 1]?.isOpen() === false) run.unfinished.pop();
  if (run.unfinished.length === 0) end(run, run.phase.ended, undefined, at, "source", context);
}

/** Closes the open calls of a call's sub-agents, recursively. */
export function closeChildren(
  run: Run,
  parent: ToolCallState,
  at: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  const parents = [parent];
  for (let tool = parents.pop(); tool !== undefined; tool = parents.pop()) {
    for (const child of run.table.children(tool.call)) {
      if (!child.isOpen()) continue;
      closeTool(run, child, "parent_closed", at, origin, context);
      parents.push(child);
    }
  }
}

/** Closes a call and the open calls of its sub-agents. */
export function closeBranch(
  run: Run,
  tool: ToolCallState,
  at: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  if (!tool.isOpen()) return;
  closeTool(run, tool, "parent_closed", at, origin, context);
  closeChildren(run, tool, at, origin, context);
}

/** Ends the run: closes everything, then announces the end once. */
export function end(
  run: Run,
  reported: Ended,
  event: Event | undefined,
  moment: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  const at = event?.at ?? moment;
  run.texts.close(run.id, context.effects);
  closeOpenTools(run, at, origin, context);
  endStep(run, context);
  if (reported.usage !== undefined) applyUsage(run, reported.usage, context);
  const ended = completeEnd(run, reported);
  if (context.tasks.finish(run.id, ended.outcome)) {
    run.showChange({ type: "tasks", tasks: context.tasks.list }, context);
  }
  const before = context.effects.length;
  const body = { type: "ended", ended } as const;
  if (event !== undefined) {
    run.emit(before, { ...event, body }, origin, context);
  } else if (origin === "source") {
    // For a log that breaks off, we write no end.
    run.emit(before, { run: run.id, at, body }, origin, context);
  }
  const summary = run.summary();
  run.showChange({ type: "runEnded", ended, summary, at }, context);
  run.phase = { type: "ended", ended, summary, at };
  run.unfinished.length = 0;
  run.dropEarly();
  context.effects.push({ type: "announce", run: run.id, ended, summary });
  if (origin === "source") {
    const until = context.clock.toCallerTime(context.clock.later(DRAIN_MS));
    context.effects.push({ type: "drain", run: run.id, until });
  }
}

/** Closes calls that are not running, and stops those that are. */
function releaseTools(run: Run, at: number | undefined, context: RunContext): void {
  for (const tool of run.table.tools) {
    if (!tool.isOpen()) continue;
    if (tool.status() === "running") {
      release(run, tool, context);
      run.unfinished.push(tool);
    } else {
      closeTool(run, tool, "run_ended", at, "source", context);
    }
  }
}

/** Closes a call, and records that if we write the log. */
function closeTool(
  run: Run,
  tool: ToolCallState,
  reason: Reason,
  at: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  const before = context.effects.length;
  const status = tool.statusWhenClosed();
  release(run, tool, context);
  tool.close(status, reason);
  const result: ToolResult = {
    call: { id: tool.call, turn: tool.turn },
    name: tool.name,
    how: toolOutcome(tool.status()),
    reason,
  };
  tool.show(true, (change) => run.showChange(change, context));
  if (origin === "source") {
    run.emit(before, { run: run.id, at, body: { type: "result", result } }, origin, context);
  }
}

/** Closes all open calls, and warns about results without a call. */
function closeOpenTools(
  run: Run,
  at: number | undefined,
  origin: EventOrigin,
  context: RunContext,
): void {
  for (const tool of run.table.tools) {
    if (!tool.called && tool.hasResult()) {
      tool.reason ??= "never_called";
      const warning = { code: "never_called", run: run.id, tool: tool.reference() } as const;
      context.effects.push({ type: "warn", warning });
    }
    if (tool.isOpen()) closeTool(run, tool, "run_ended", at, origin, context);
    else tool.show(true, (change) => run.showChange(change, context));
  }
}

/** Completes a reported end with the earlier decision, the text and the usage of the run. */
function completeEnd(run: Run, reported: Ended): Ended & { readonly outcome: Outcome } {
  const first: Ended = run.phase.type === "stopping" ? run.phase.ended : {};
  const hasText = reported.text !== undefined && !isBlank(reported.text);
  const text = hasText ? reported.text : run.texts.finalText();
  const { input, output, cached, reasoning } = run.usage;
  const usage = input + output + cached + reasoning > 0 ? run.usage : undefined;
  return {
    outcome: combineOutcome(first.outcome ?? reported.outcome, text, reported),
    text,
    problem: first.problem ?? reported.problem,
    usage,
  };
}

function combineOutcome(
  decided: Outcome | undefined,
  text: string | undefined,
  reported: Ended,
): Outcome {
  if (decided === undefined && reported.problem !== undefined) return "failed";
  if (text === undefined && (decided === undefined || decided === "completed")) return "no_text";
  return decided ?? "completed";
}

/** How a closed call is recorded in the log. */
function toolOutcome(status: Status): How {
  switch (status) {
    case "succeeded":
      return "ok";
    case "failed":
      return "error";
    case "denied":
    case "cancelled":
    case "handed_over":
      return status;
    case "interrupted":
    case "unknown":
    case "pending":
    case "awaiting_approval":
    case "running":
      return "interrupted";
  }
}
