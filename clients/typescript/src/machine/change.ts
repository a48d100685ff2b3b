/** What each kind of event changes in its run. */

import type { Call, CallRef, Event, Text, ToolResult, Turn, Usage, Verdict } from "../event.js";
import type { Task, ToolsAvailable } from "../event.js";
import type { Settings } from "../settings.js";
import type { Json } from "../value.js";
import { ask, cancelAsks, concludeAsk, reply } from "./asks.js";
import type { Run } from "./run.js";
import { ANSWER, type Purpose, REMARK } from "./table.js";
import { written } from "./tasks.js";
import type { TextKind } from "./texts.js";
import type { Tool } from "./tool.js";
import type { World } from "./world.js";

/** What an event says that was not known. */
export type News =
  | "none"
  | "some"
  /** That a question went over to a person: the log says so, and not what was said about it. */
  | "handedOver"
  /** That this call was called off: its sub-agents go with it. */
  | { readonly closed: Tool }
  /** That this call was made for one that had been called off. */
  | { readonly doomed: Tool };

/** What an event changes, apart from ending the run. */
export function change(run: Run, event: Event, world: World): News {
  const { body } = event;
  switch (body.type) {
    case "started":
      return "none";
    case "toolsAvailable":
      return toolsAvailable(run, body.available, world);
    case "turn":
      return turn(run, body.turn, world);
    case "text":
    case "thought":
      return said(run, body.type, body.text, world);
    case "call":
      return called(run, body.call, world);
    case "arguments":
      return on(run, body.call, REMARK, world, (tool) => {
        const open = tool.isOpen() && tool.input === undefined;
        if (open) tool.arguments += body.delta;
        return open;
      });
    case "progress":
      return progress(run, body.call, body.content, world);
    case "result":
      return result(run, body.result, world);
    case "cancelled":
      return on(run, body.call, ANSWER, world, (tool) => {
        const open = tool.isOpen();
        const status = tool.closed();
        release(run, tool, world);
        tool.close(status, "called_off");
        return open;
      });
    case "asked":
      return on(
        run,
        body.ask.call,
        REMARK,
        world,
        (tool) => tool.isOpen() && ask(tool, body.ask, run.id, world.effects),
      );
    case "replied":
      return on(run, body.reply.call, REMARK, world, (tool) => {
        if (!tool.isOpen()) {
          return body.reply.verdict === "denied" && tool.deny(world.settings);
        }
        const news = reply(tool, body.reply, run.id, world.effects);
        if (news) decided(tool, body.reply.verdict, world.settings);
        return news;
      });
    case "tasks":
      listed(run, body.tasks, world);
      return "some";
    case "usage":
      return used(run, body.usage, world);
    case "activity":
      run.tell({ type: "activity", activity: body.activity }, world);
      return "some";
    case "problem":
      if (!body.problem.fatal) run.tell({ type: "problem", problem: body.problem }, world);
      return "some";
    case "timedOut":
      return body.call === undefined
        ? "some"
        : result(run, { call: body.call, how: "timed_out" }, world);
    case "stop":
    case "ended":
      return "some";
    case "unknown":
      if (event.odd === undefined) {
        const warning = { code: "unknown_word", run: run.id, word: body.kind } as const;
        world.effects.push({ type: "warn", warning });
      }
      return "some";
  }
}

/** Whoever waits for a person waits no longer, and whoever works may stop. */
export function release(run: Run, tool: Tool, world: World): void {
  if (tool.status() === "running") {
    world.effects.push({ type: "callOff", run: run.id, tool: tool.reference() });
  }
  cancelAsks(tool, run.id, world.effects);
}

/** The step is over, if there is one. */
export function endStep(run: Run, world: World): void {
  if (run.step !== undefined) run.tell({ type: "stepEnded", turn: run.step }, world);
  run.step = undefined;
}

function toolsAvailable(run: Run, available: ToolsAvailable, world: World): News {
  const known = run.available;
  // A list without a number comes before all that have one.
  const version = (list: ToolsAvailable) => list.version ?? -1;
  const newer =
    known === undefined || (!isSame(known, available) && version(known) <= version(available));
  if (newer) {
    run.available = available;
    run.tell({ type: "toolsAvailable", available }, world);
  }
  return newsIf(newer);
}

function isSame(one: ToolsAvailable, other: ToolsAvailable): boolean {
  return (
    one.version === other.version &&
    one.ready === other.ready &&
    one.tools.length === other.tools.length &&
    one.tools.every((tool, at) => tool === other.tools[at])
  );
}

function turn(run: Run, told: Turn, world: World): News {
  const same = told.message !== undefined && told.message === run.message;
  const next = told.turn ?? run.turn + 1;
  if (same || next <= run.turn) return "none";
  run.texts.close(run.id, world.effects);
  endStep(run, world);
  run.turn = next;
  run.message = told.message;
  run.step = next;
  run.tell({ type: "stepStarted", turn: next }, world);
  return "some";
}

function said(run: Run, kind: TextKind, text: Text, world: World): News {
  return newsIf(run.texts.take(kind, text, run.id, world.effects));
}

function called(run: Run, call: Call, world: World): News {
  const purpose: Purpose = { type: "call", name: call.name, complete: call.input !== undefined };
  const tool = run.table.find(run.id, call.call, run.turn, purpose);
  if (!tool.called) run.texts.close(run.id, world.effects);
  const open = tool.isOpen();
  const adopted = tool.parent === undefined && call.parent !== undefined;
  const wasListed = tasksOf(tool) !== undefined;
  const news = take(tool, call, world.settings);
  const closed = open && takesChildrenAlong(tool);
  show(run, tool, world);
  const tasks = wasListed ? undefined : tasksOf(tool);
  if (tasks !== undefined) listed(run, tasks, world);
  if (adopted && call.parent !== undefined) {
    run.table.adopt(call.parent, tool);
    // Whatever the sub-agent of a call that was called off still begins goes, too.
    const parent = run.table.newest(call.parent);
    if (parent !== undefined && takesChildrenAlong(parent)) return { doomed: tool };
  }
  return closed ? { closed: tool } : newsIf(news);
}

/** The list of tasks that a call writes. That of a sub-agent is its own. */
function tasksOf({ name, input, parent }: Tool): readonly Task[] | undefined {
  if (name === undefined || input === undefined || parent !== undefined) return undefined;
  return written(name, input);
}

/** Takes the list of tasks. A list that is told as a call and by itself is shown once. */
function listed(run: Run, tasks: readonly Task[], world: World): void {
  if (world.tasks.replace(run.id, run.epoch, tasks)) run.tell({ type: "tasks", tasks }, world);
}

/** Takes what is known about a call. Tells whether any of it is new. */
function take(tool: Tool, call: Call, settings: Settings): boolean {
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
  tool.named(call.name, settings);
  tool.title ??= call.title;
  tool.parent ??= call.parent;
  tool.input ??= call.input;
  // Whatever is final comes with its result.
  if (call.status === "running") tool.begun = true;
  if (call.status === "unknown") tool.odd = true;
  const waits = call.status === "awaiting_approval";
  if (tool.isOpen() && tool.isInteractive(settings)) {
    if (waits || tool.input !== undefined) concludeAsk(tool, "question");
  } else if (tool.isOpen() && waits) {
    concludeAsk(tool, "approval");
  }
  return before !== known();
}

function progress(run: Run, call: CallRef, content: Json, world: World): News {
  const tool = run.table.find(run.id, call, run.turn, REMARK);
  if (!tool.isOpen()) return "none";
  tool.begun = true;
  show(run, tool, world);
  if (tool.called) run.tell({ type: "toolProgress", tool: tool.reference(), content }, world);
  return "some";
}

function result(run: Run, answer: ToolResult, world: World): News {
  const answered = (tool: Tool) => tool.answer(answer, world.settings);
  const news = on(run, answer.call, ANSWER, world, answered);
  // At the end of a run its sub-agents' calls are closed, too, each by itself.
  const alone = answer.reason === "run_ended" && typeof news === "object" && "closed" in news;
  return alone ? "some" : news;
}

/** What a person's decision makes of the call itself. */
function decided(tool: Tool, verdict: Verdict, settings: Settings): void {
  switch (verdict) {
    case "denied":
      tool.answer({ call: {}, how: "denied" }, settings);
      break;
    case "answered":
      tool.begun = true;
      break;
    case "allowed":
    case "cancelled":
      break;
  }
}

/** Takes what it cost. */
export function used(run: Run, told: Usage, world: World): News {
  // What is told is the sum so far, so the greater one is the newer one.
  const { usage } = run;
  const sum: Usage = {
    input: Math.max(usage.input, told.input),
    output: Math.max(usage.output, told.output),
    cached: Math.max(usage.cached, told.cached),
    reasoning: Math.max(usage.reasoning, told.reasoning),
  };
  const news =
    sum.input !== usage.input ||
    sum.output !== usage.output ||
    sum.cached !== usage.cached ||
    sum.reasoning !== usage.reasoning;
  if (news) {
    run.usage = sum;
    run.tell({ type: "usage", usage: sum }, world);
  }
  return newsIf(news);
}

/** Changes the call that is meant, and shows what changed. */
function on(
  run: Run,
  call: CallRef,
  purpose: Purpose,
  world: World,
  apply: (tool: Tool) => boolean,
): News {
  const tool = run.table.find(run.id, call, run.turn, purpose);
  const news = apply(tool);
  show(run, tool, world);
  if (!news) return "none";
  if (tool.settled === "handed_over") return "handedOver";
  return takesChildrenAlong(tool) ? { closed: tool } : "some";
}

/**
 * Whether what a call's sub-agents still have open goes with it. At the end of a run each call is
 * closed by itself.
 */
function takesChildrenAlong({ settled, reason }: Tool): boolean {
  const calledOff = settled === "cancelled" || settled === "interrupted" || settled === "denied";
  return calledOff && reason !== "run_ended";
}

/** Shows what changed. Nobody waits for a person behind the end of a call. */
function show(run: Run, tool: Tool, world: World): void {
  if (!tool.isOpen()) cancelAsks(tool, run.id, world.effects);
  tool.show(false, (change) => run.tell(change, world));
}

function newsIf(news: boolean): News {
  return news ? "some" : "none";
}
