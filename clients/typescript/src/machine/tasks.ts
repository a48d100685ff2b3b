/** The tasks of a session, and what the end of a run does to them. */

import type { Task, TaskStatus } from "../event.js";
import type { Outcome } from "../status.js";
import { wellFormed } from "../text.js";
import type { Json } from "../value.js";

/** The tasks of one session, and the run that wrote them last. */
export class Tasks {
  #list: readonly Task[] = [];
  #run: string | undefined;
  #epoch = 0;

  get list(): readonly Task[] {
    return this.#list;
  }

  /** Takes a list, unless a newer run has written one. Tells whether that changes anything. */
  replace(run: string, epoch: number, tasks: readonly Task[]): boolean {
    if (epoch < this.#epoch) return false;
    const same = this.#run === run && isSame(this.#list, tasks);
    this.#list = tasks;
    this.#run = run;
    this.#epoch = epoch;
    return !same;
  }

  /**
   * What was under way is done, or waits. Only for the run that wrote them. Tells whether
   * anything changed.
   */
  finish(run: string, outcome: Outcome): boolean {
    const underWay = (task: Task) => task.status === "in_progress";
    if (this.#run !== run || !this.#list.some(underWay)) return false;
    const status: TaskStatus = outcome === "completed" ? "completed" : "paused";
    this.#list = this.#list.map((task) => (underWay(task) ? { ...task, status } : task));
    return true;
  }
}

/** The whole list, if the tool is one that writes it whole. */
export function written(tool: string, input: Json): readonly Task[] | undefined {
  if (!WRITERS.includes(tool)) return undefined;
  const { value } = input;
  if (!isObject(value)) return undefined;
  const list = LISTS.map((name) => value[name]).find((list) => Array.isArray(list));
  return (list as unknown[] | undefined)?.filter(isObject).map(taskOf);
}

function taskOf(task: Readonly<Record<string, unknown>>): Task {
  const { id, status, activeForm } = task;
  return {
    id: typeof id === "number" ? String(id) : words(id),
    content: CONTENTS.map((name) => words(task[name])).find((text) => text !== undefined) ?? "",
    status: typeof status === "string" ? (STATUSES.get(status) ?? "unknown") : "pending",
    active: words(activeForm),
  };
}

function words(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? wellFormed(value) : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(one: readonly Task[], other: readonly Task[]): boolean {
  const same = (task: Task, with_: Task | undefined) =>
    task.id === with_?.id &&
    task.content === with_?.content &&
    task.status === with_?.status &&
    task.active === with_?.active;
  return one.length === other.length && one.every((task, at) => same(task, other[at]));
}

const WRITERS = ["TodoWrite", "todo_write", "write_todos"];
const LISTS = ["todos", "tasks", "items"];
const CONTENTS = ["content", "subject", "description", "text"];
const STATUSES: ReadonlyMap<string, TaskStatus> = new Map(
  (["pending", "in_progress", "completed", "paused"] as const).map((word) => [word, word]),
);
