/** Plans and makes the repairs of several sessions, one after the other. */

import { type Signal, signal } from "@preact/signals";

import { fetchJson, path } from "./ask.js";
import type { Applied, Plan } from "./types.js";

/** The repair of one session of several. */
export type RepairState =
  | { readonly type: "waiting" }
  | { readonly type: "planned"; readonly plan: Plan }
  | { readonly type: "nothing" }
  | { readonly type: "live"; readonly who: string | null }
  | { readonly type: "working"; readonly plan: Plan }
  | { readonly type: "done"; readonly plan: Plan; readonly applied: Applied }
  | { readonly type: "failed"; readonly error: Error };

export class SeveralRepairs {
  readonly states: ReadonlyMap<string, Signal<RepairState>>;
  readonly #abort = new AbortController();

  constructor(readonly ids: readonly string[]) {
    this.states = new Map(ids.map((id) => [id, signal<RepairState>({ type: "waiting" })]));
  }

  /** Plans the repairs that are not planned yet. */
  async plan(): Promise<void> {
    for (const id of this.ids) {
      if (this.#abort.signal.aborted) return;
      if (this.#state(id)?.peek().type === "waiting") await this.planOne(id);
    }
  }

  async planOne(id: string): Promise<void> {
    const state = this.#state(id);
    if (state === undefined) return;
    try {
      const { signal } = this.#abort;
      const plan = await fetchJson<Plan>(path(["console", "sessions", id, "repair"], { limit: 1 }), {
        signal,
      });
      if (!plan.changes) state.value = { type: "nothing" };
      else if (plan.live.is) state.value = { type: "live", who: plan.live.who };
      else state.value = { type: "planned", plan };
    } catch (error) {
      if (!this.#abort.signal.aborted) state.value = { type: "failed", error: error as Error };
    }
  }

  /** Makes every planned repair. One that fails does not stop the others. */
  async apply(): Promise<void> {
    for (const id of this.ids) {
      const state = this.#state(id);
      const known = state?.peek();
      if (state === undefined || known?.type !== "planned") continue;
      const { plan } = known;
      state.value = { type: "working", plan };
      try {
        const applied = await fetchJson<Applied>(path(["console", "sessions", id, "repair"]), {
          method: "POST",
          body: { plan: plan.plan },
        });
        state.value = { type: "done", plan, applied };
      } catch (error) {
        state.value = { type: "failed", error: error as Error };
      }
    }
  }

  /** How many repairs are in one of these states. */
  count(...types: readonly RepairState["type"][]): number {
    return [...this.states.values()].filter(({ value }) => types.includes(value.type)).length;
  }

  close(): void {
    this.#abort.abort();
  }

  #state(id: string): Signal<RepairState> | undefined {
    return this.states.get(id);
  }
}
