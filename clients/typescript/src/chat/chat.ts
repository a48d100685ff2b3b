/** A chat: its turns, and what a person can do. */

import type { Signal } from "../follow.js";
import type { TaskTruth } from "../machine/snapshot.js";
import {
  ChatClient,
  ChatError,
  type ChatFetch,
  type ChatQuestion,
  type Decision,
} from "./request.js";
import { type ChatTurn, type SavedTurn, TurnMachine } from "./turn.js";

export interface ChatOptions {
  /** The address of the gateway; empty for the origin of the page. */
  readonly url?: string;
  /** The headers of every request, such as `authorization`. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** A chat that was saved before the page was loaded again. */
  readonly saved?: SavedChat | undefined;
  /** Requests; by default the platform's `fetch`. */
  readonly fetch?: ChatFetch;
}

/** A chat that can be continued after the page was loaded again. */
export interface SavedChat {
  readonly session: string;
  readonly turns: readonly SavedTurn[];
  /** Runs of turns that were sent again. */
  readonly replaced: readonly string[];
}

/** The most characters of events that are saved; older turns keep their text only. */
const MAX_SAVED = 1_000_000;

declare const AbortController: new () => { readonly signal: Signal; abort(): void };

export class Chat {
  readonly #client: ChatClient;
  readonly #session: string;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  /** Runs of turns that were sent again. */
  readonly #replaced: Set<string>;
  #turns: readonly TurnMachine[] = [];
  #next = 1;
  #view: readonly ChatTurn[] | undefined;

  constructor(options: ChatOptions = {}) {
    const { url = "", headers = () => ({}), saved } = options;
    this.#client = new ChatClient(url, headers, options.fetch);
    this.#session = saved?.session ?? `chat-${randomName()}`;
    this.#replaced = new Set(saved?.replaced);
    for (const turn of saved?.turns ?? []) this.#restore(turn);
  }

  /** The name of the gateway session that the turns belong to. */
  get session(): string {
    return this.#session;
  }

  /** All turns as plain data; the same list until something changes. */
  readonly getTurns = (): readonly ChatTurn[] => {
    this.#view ??= this.#turns.map((turn) => turn.view());
    return this.#view;
  };

  /** Calls `listener` when something may have changed. Returns a function to unsubscribe. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Whether a reply is in progress. */
  isBusy(): boolean {
    return this.#turns.some((turn) => !turn.view().isOver);
  }

  /** The newest list of tasks. */
  tasks(): readonly TaskTruth[] {
    const turns = [...this.#turns].reverse().map((turn) => turn.view());
    return turns.find(({ tasks }) => tasks.length > 0)?.tasks ?? [];
  }

  /** Sends a prompt. Does nothing while a reply is in progress. */
  send(prompt: string, model: string): void {
    if (prompt.trim() === "" || this.isBusy()) return;
    const messages = this.#turns.flatMap((turn) => {
      const text = turn.text();
      const user = { role: "user", content: turn.prompt };
      return text === "" ? [user] : [user, { role: "assistant", content: text }];
    });
    const turn = this.#add(prompt, model);
    const all = [...messages, { role: "user", content: prompt }];
    void turn.send(all, this.#session, this.#runs(), this.#abort.signal);
    this.#changed();
  }

  /** Stops the reply in progress. Tools that were running may have taken effect. */
  async stop(): Promise<void> {
    const turn = this.#turns.find((one) => !one.view().isOver);
    if (turn === undefined) return;
    if (turn.run === undefined) {
      await turn.find(this.#session, this.#runs(turn), this.#abort.signal, () => turn.view().isOver);
    }
    if (turn.run !== undefined) {
      await this.#client.json(`/v1/runs/${encodeURIComponent(turn.run)}/stop`, {});
    }
  }

  /** Sends the prompt of a turn again. That turn and the later ones are removed. */
  retry(key: number, model?: string): void {
    const at = this.#turns.findIndex((turn) => turn.key === key);
    const turn = this.#turns[at];
    if (turn === undefined || this.isBusy()) return;
    for (const removed of this.#turns.slice(at)) {
      if (removed.run !== undefined) this.#replaced.add(removed.run);
      removed.close();
    }
    this.#turns = this.#turns.slice(0, at);
    this.send(turn.prompt, model ?? turn.model);
  }

  /** The open questions of a run. */
  async questions(run: string): Promise<readonly ChatQuestion[]> {
    const path = `/v1/runs/${encodeURIComponent(run)}/answers`;
    return (await this.#client.json<{ questions: readonly ChatQuestion[] }>(path)).questions;
  }

  /** Answers a question of a run. */
  async answer(run: string, question: string, decision: Decision): Promise<void> {
    const path = `/v1/runs/${encodeURIComponent(run)}/answers`;
    await this.#client.json(path, { question, ...decision });
  }

  /** The models that the gateway lists. Others may work, too. */
  async models(): Promise<readonly string[]> {
    const list = await this.#client.json<{ data: readonly { id: string }[] }>("/v1/models");
    return list.data.map(({ id }) => id);
  }

  /** Everything that is needed to continue after the page was loaded again. */
  save(): SavedChat {
    let room = MAX_SAVED;
    const turns = [...this.#turns].reverse().map((turn) => {
      const saved = turn.save();
      room -= saved.lines.reduce((sum, line) => sum + line.length, 0);
      return room >= 0 ? saved : { ...saved, streamed: turn.text(), lines: [] };
    });
    return { session: this.#session, turns: turns.reverse(), replaced: [...this.#replaced] };
  }

  /** Stops to follow the run. The run itself goes on. */
  close(): void {
    this.#abort.abort();
    for (const turn of this.#turns) turn.close();
  }

  #restore(saved: SavedTurn): void {
    const turn = this.#add(saved.prompt, saved.model);
    turn.restore(saved);
    if (turn.view().isOver) return;
    if (saved.run !== undefined) {
      turn.resume(this.#abort.signal);
      return;
    }
    // The page was left before the gateway had named the run.
    let isLate = false;
    const signal = this.#abort.signal;
    void turn.find(this.#session, this.#runs(turn), signal, () => isLate);
    setTimeout(() => {
      isLate = true;
      if (turn.run === undefined) turn.fail(new ChatError(0, "lost", ""));
    }, 3_000);
  }

  #add(prompt: string, model: string): TurnMachine {
    const turn = new TurnMachine(this.#next, prompt, model, this.#client, () => this.#changed());
    this.#next += 1;
    this.#turns = [...this.#turns, turn];
    return turn;
  }

  /** The runs of the other turns. */
  #runs(except?: TurnMachine): ReadonlySet<string> {
    const others = this.#turns.flatMap((turn) => (turn === except ? [] : (turn.run ?? [])));
    return new Set([...this.#replaced, ...others]);
  }

  #changed(): void {
    this.#view = undefined;
    for (const listener of [...this.#listeners]) listener();
  }
}

declare function setTimeout(run: () => void, milliseconds: number): unknown;

function randomName(): string {
  const digits = "abcdefghijklmnopqrstuvwxyz0123456789";
  let name = "";
  for (let at = 0; at < 16; at += 1) name += digits[Math.floor(Math.random() * 36)] ?? "";
  return name;
}
