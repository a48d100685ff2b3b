/** The end of a run: decided once, by whoever comes first, and everything is closed before it. */

import type { Ended, Event, How, ToolResult } from "../event.js";
import type { Outcome, Reason, Status } from "../status.js";
import { isBlank } from "../text.js";
import { endStep, release, used } from "./change.js";
import type { Origin, Run } from "./run.js";
import type { Tool } from "./tool.js";
import type { World } from "./world.js";

/** How long the source of a run that is over is read on, in milliseconds. */
const DRAIN = 3_000;

/**
 * The outcome is decided. Whoever decides second decides nothing; a second wish without patience
 * ends the wait.
 */
export function decide(
  run: Run,
  { ended, grace }: { ended: Ended; grace: number },
  at: number | undefined,
  origin: Origin,
  world: World,
): void {
  switch (run.phase.type) {
    case "ended":
      return;
    case "stopping":
      if (origin === "source" && grace === 0) {
        end(run, run.phase.ended, undefined, at, origin, world);
      }
      return;
    case "running":
      run.texts.close(run.id, world.effects);
      if (origin === "log") {
        // Whoever wrote the log closed it, too; what is missing is not long in coming.
        const deadline = world.clock.later(grace + world.settings.wait);
        run.phase = { type: "stopping", ended, deadline };
        return;
      }
      releaseTools(run, at, world);
      if (grace === 0 || run.unfinished.length === 0) {
        end(run, ended, undefined, at, origin, world);
      } else {
        run.phase = { type: "stopping", ended, deadline: world.clock.later(grace) };
      }
  }
}

/** Ends a run that only waits for its tools once they are done. */
export function endIfSettled(run: Run, at: number | undefined, world: World): void {
  if (run.phase.type !== "stopping" || run.origin === "log") return;
  while (run.unfinished[run.unfinished.length - 1]?.isOpen() === false) run.unfinished.pop();
  if (run.unfinished.length === 0) end(run, run.phase.ended, undefined, at, "source", world);
}

/** Closes what the sub-agents of a call still have open, and theirs. */
export function closeChildren(
  run: Run,
  parent: Tool,
  at: number | undefined,
  origin: Origin,
  world: World,
): void {
  const parents = [parent];
  for (let tool = parents.pop(); tool !== undefined; tool = parents.pop()) {
    for (const child of run.table.children(tool.call)) {
      if (!child.isOpen()) continue;
      closeTool(run, child, "parent_closed", at, origin, world);
      parents.push(child);
    }
  }
}

/** Closes a call whose own sub-agents go with it. */
export function closeBranch(
  run: Run,
  tool: Tool,
  at: number | undefined,
  origin: Origin,
  world: World,
): void {
  if (!tool.isOpen()) return;
  closeTool(run, tool, "parent_closed", at, origin, world);
  closeChildren(run, tool, at, origin, world);
}

/** The end. Everything is closed first; then it is told, once. */
export function end(
  run: Run,
  told: Ended,
  event: Event | undefined,
  moment: number | undefined,
  origin: Origin,
  world: World,
): void {
  const at = event?.at ?? moment;
  run.texts.close(run.id, world.effects);
  sweep(run, at, origin, world);
  endStep(run, world);
  if (told.usage !== undefined) used(run, told.usage, world);
  const ended = decided(run, told);
  if (world.tasks.finish(run.id, ended.outcome)) {
    run.tell({ type: "tasks", tasks: world.tasks.list }, world);
  }
  const before = world.effects.length;
  const body = { type: "ended", ended } as const;
  if (event !== undefined) {
    run.emit(before, { ...event, body }, origin, world);
  } else if (origin === "source") {
    // A log that breaks off has no end that we could write.
    run.emit(before, { run: run.id, at, body }, origin, world);
  }
  const summary = run.summary();
  run.tell({ type: "runEnded", ended, summary, at }, world);
  run.phase = { type: "ended", ended, summary, at };
  run.unfinished.length = 0;
  run.dropEarly();
  world.effects.push({ type: "announce", run: run.id, ended, summary });
  if (origin === "source") {
    const until = world.clock.tell(world.clock.later(DRAIN));
    world.effects.push({ type: "drain", run: run.id, until });
  }
}

/** Nothing begins any more, and whoever works may stop. */
function releaseTools(run: Run, at: number | undefined, world: World): void {
  for (const tool of run.table.tools) {
    if (!tool.isOpen()) continue;
    if (tool.status() === "running") {
      release(run, tool, world);
      run.unfinished.push(tool);
    } else {
      closeTool(run, tool, "run_ended", at, "source", world);
    }
  }
}

/** Closes a call. If we write the log, it says so. */
function closeTool(
  run: Run,
  tool: Tool,
  reason: Reason,
  at: number | undefined,
  origin: Origin,
  world: World,
): void {
  const before = world.effects.length;
  const status = tool.closed();
  release(run, tool, world);
  tool.close(status, reason);
  const result: ToolResult = {
    call: { id: tool.call, turn: tool.turn },
    name: tool.name,
    how: how(tool.status()),
    reason,
  };
  tool.show(true, (change) => run.tell(change, world));
  if (origin === "source") {
    run.emit(before, { run: run.id, at, body: { type: "result", result } }, origin, world);
  }
}

/** No call is open behind the end, and no answer is without a word about its call. */
function sweep(run: Run, at: number | undefined, origin: Origin, world: World): void {
  for (const tool of run.table.tools) {
    if (!tool.called && tool.hasAnswer()) {
      tool.reason ??= "never_called";
      const warning = { code: "never_called", run: run.id, tool: tool.reference() } as const;
      world.effects.push({ type: "warn", warning });
    }
    if (tool.isOpen()) closeTool(run, tool, "run_ended", at, origin, world);
    else tool.show(true, (change) => run.tell(change, world));
  }
}

/** What the end says, with what was decided before and what was said in the run. */
function decided(run: Run, told: Ended): Ended & { readonly outcome: Outcome } {
  const first: Ended = run.phase.type === "stopping" ? run.phase.ended : {};
  const said = told.text !== undefined && !isBlank(told.text) ? told.text : undefined;
  const text = said ?? run.texts.lastWords();
  const { input, output, cached, reasoning } = run.usage;
  const usage = input + output + cached + reasoning > 0 ? run.usage : undefined;
  return {
    outcome: outcome(first.outcome ?? told.outcome, text, told),
    text,
    problem: first.problem ?? told.problem,
    usage,
  };
}

function outcome(decided: Outcome | undefined, text: string | undefined, told: Ended): Outcome {
  if (decided === undefined && told.problem !== undefined) return "failed";
  if (text === undefined && (decided === undefined || decided === "completed")) return "no_text";
  return decided ?? "completed";
}

/** How a call that was closed is told in the log. */
function how(status: Status): How {
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
