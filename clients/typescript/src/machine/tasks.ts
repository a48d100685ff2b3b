/** The tasks of a session, and what the end of a run does to them. */

import type { Task, TaskStatus } from "../event.js";
import type { Outcome } from "../status.js";

/** The tasks of one session, and the run that wrote them last. */
export class Tasks {
  #list: readonly Task[] = [];
  #run: string | undefined;
  #epoch = 0;

  get list(): readonly Task[] {
    return this.#list;
  }

  /** Takes a list, unless a newer run has written one. Tells whether it was taken. */
  replace(run: string, epoch: number, tasks: readonly Task[]): boolean {
    if (epoch < this.#epoch) return false;
    this.#list = tasks;
    this.#run = run;
    this.#epoch = epoch;
    return true;
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
