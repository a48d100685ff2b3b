/** The tasks of a session. */

import type { Task, TaskStatus } from "../event.js";
import type { Outcome } from "../status.js";
import { wellFormed } from "../text.js";
import type { Json } from "../value.js";

/** The task list of a session, and the run that wrote it last. */
export class SessionTasks {
  #list: readonly Task[] = [];
  #run: string | undefined;
  #epoch = 0;

  get list(): readonly Task[] {
    return this.#list;
  }

  /** Sets the list, unless a newer run has written one. Returns whether anything changed. */
  replace(run: string, epoch: number, tasks: readonly Task[]): boolean {
    if (epoch < this.#epoch) return false;
    const same = this.#run === run && isSame(this.#list, tasks);
    this.#list = tasks;
    this.#run = run;
    this.#epoch = epoch;
    return !same;
  }

  /**
   * Completes or pauses the tasks in progress when the run that wrote them ends. Returns whether
   * anything changed.
   */
  finish(run: string, outcome: Outcome): boolean {
    const isInProgress = (task: Task) => task.status === "in_progress";
    if (this.#run !== run || !this.#list.some(isInProgress)) return false;
    const status: TaskStatus = outcome === "completed" ? "completed" : "paused";
    this.#list = this.#list.map((task) => (isInProgress(task) ? { ...task, status } : task));
    return true;
  }
}

/** The task list in the input of a tool that writes the complete list. */
export function writtenTasks(tool: string, input: Json): readonly Task[] | undefined {
  if (!TASK_TOOLS.includes(tool)) return undefined;
  const { value } = input;
  if (!isObject(value)) return undefined;
  const list = LIST_FIELDS.map((name) => value[name]).find((list) => Array.isArray(list));
  return (list as unknown[] | undefined)?.filter(isObject).map(taskOf);
}

function taskOf(task: Readonly<Record<string, unknown>>): Task {
  const { id, status, activeForm } = task;
  const contents = CONTENT_FIELDS.map((name) => nonEmptyString(task[name]));
  return {
    id: typeof id === "number" ? String(id) : nonEmptyString(id),
    content: contents.find((text) => text !== undefined) ?? "",
    status: typeof status === "string" ? (STATUSES.get(status) ?? "unknown") : "pending",
    active: nonEmptyString(activeForm),
  };
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? wellFormed(value) : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(one: readonly Task[], others: readonly Task[]): boolean {
  const same = (task: Task, other: Task | undefined) =>
    task.id === other?.id &&
    task.content === other?.content &&
    task.status === other?.status &&
    task.active === other?.active;
  return one.length === others.length && one.every((task, at) => same(task, others[at]));
}

const TASK_TOOLS = ["TodoWrite", "todo_write", "write_todos"];
const LIST_FIELDS = ["todos", "tasks", "items"];
const CONTENT_FIELDS = ["content", "subject", "description", "text"];
const STATUSES: ReadonlyMap<string, TaskStatus> = new Map(
  (["pending", "in_progress", "completed", "paused"] as const).map((word) => [word, word]),
);
