/** One turn of a chat: a prompt, and the run that replies to it. */

import type { Effect } from "../effect.js";
import { type BodyLike, type FollowOptions, type Signal, follow } from "../follow.js";
import type { RunSnapshot, TaskTruth, TextTruth, ToolTruth } from "../machine/snapshot.js";
import { type Session, createSession } from "../session.js";
import { ServerEvents } from "../sse.js";
import { keepTime } from "../time.js";
import { ChatClient, ChatError } from "./request.js";

/** Whether the shown state is current. */
export type ChatConnection =
  | { readonly type: "connecting" }
  | { readonly type: "connected" }
  | { readonly type: "lost"; readonly why: string; readonly retryIn: number }
  | { readonly type: "over" };

/** A part of a reply, in the order in which the parts began. */
export type ChatItem =
  | { readonly type: "text" | "thought"; readonly id: string; readonly text: TextTruth }
  | { readonly type: "tool"; readonly id: string; readonly tool: ToolTruth };

/** A turn as plain data. */
export interface ChatTurn {
  readonly key: number;
  readonly prompt: string;
  readonly model: string;
  /** The run that replies; undefined until the gateway has started it. */
  readonly run: string | undefined;
  /** The state of the run, as the run machine knows it. */
  readonly snapshot: RunSnapshot | undefined;
  readonly items: readonly ChatItem[];
  readonly tasks: readonly TaskTruth[];
  readonly connection: ChatConnection;
  /** Why there is no reply. */
  readonly error: ChatError | undefined;
  /** Whether the reply is complete, or there will be none. */
  readonly isOver: boolean;
}

/** A turn that can be continued after the page was loaded again. */
export interface SavedTurn {
  readonly prompt: string;
  readonly model: string;
  readonly run?: string;
  readonly lines: readonly string[];
  readonly lastId: string;
  readonly streamed: string;
  readonly error?: { readonly status: number; readonly code: string; readonly message: string };
}

declare const TextDecoder: new () => {
  decode(bytes?: Uint8Array, options?: { readonly stream: boolean }): string;
};
declare function setTimeout(run: () => void, milliseconds: number): unknown;

/** How long the gateway may take to send a head before its list of runs is asked. */
const HEAD_MS = 700;
const SEARCH_MS = 1_000;
const LONGEST_EVENT = 16 * 1024 * 1024;

/** A turn in progress. */
export class TurnMachine {
  run: string | undefined;
  error: ChatError | undefined;
  /** The text of the reply as it is streamed. */
  streamed = "";
  readonly lines: string[] = [];
  lastId = "";
  readonly #session: Session;
  readonly #order = new Map<string, number>();
  readonly #stopTime: () => void;
  #connection: ChatConnection = { type: "connecting" };
  #following = false;
  #shown: ChatTurn | undefined;

  constructor(
    readonly key: number,
    readonly prompt: string,
    readonly model: string,
    private readonly client: ChatClient,
    private readonly changed: () => void,
  ) {
    this.#session = createSession({
      onEffect: (effect) => this.#remember(effect),
      limits: { waiting: 200_000 },
    });
    this.#stopTime = keepTime(this.#session);
    this.#session.subscribe(() => this.#update());
  }

  /** Restores a saved turn, without following it. */
  restore(saved: SavedTurn): void {
    this.run = saved.run;
    this.streamed = saved.streamed;
    this.lastId = saved.lastId;
    if (saved.error !== undefined) {
      this.error = new ChatError(saved.error.status, saved.error.code, saved.error.message);
    }
    for (const line of saved.lines) this.#apply(line);
    this.#update();
  }

  /** Sends the prompt and follows the run to its end. */
  async send(
    messages: readonly { readonly role: string; readonly content: string }[],
    session: string,
    known: ReadonlySet<string>,
    signal: Signal,
  ): Promise<void> {
    const body = { model: this.model, stream: true, messages };
    const headers = { "x-foxwedge-session": session, "x-foxwedge-keep-running": "true" };
    let isSent = false;
    const reply = this.client.request("/v1/chat/completions", body, headers, signal);
    const search = async () => {
      await pause(HEAD_MS);
      if (isSent || this.run !== undefined) return;
      await this.find(session, known, signal, () => isSent);
    };
    void search();
    try {
      const head = await reply;
      isSent = true;
      const run = head.headers.get("x-foxwedge-run");
      if (run !== null) this.#start(run, signal);
      if (head.body !== null) await this.#stream(head.body, signal);
    } catch (error) {
      isSent = true;
      // A run that was found goes on without the connection.
      if (this.run === undefined && !signal.aborted) this.fail(error as Error);
    }
  }

  /** Looks for the run of this turn in the session, and follows it. */
  async find(
    session: string,
    known: ReadonlySet<string>,
    signal: Signal,
    isDone: () => boolean,
  ): Promise<void> {
    for (let attempt = 0; attempt < 600 && !isDone() && !signal.aborted; attempt += 1) {
      const path = `/v1/runs?session=${encodeURIComponent(session)}&limit=5`;
      const list = await this.client
        .json<{ data: readonly { id: string }[] }>(path, undefined, signal)
        .catch(() => undefined);
      const found = list?.data.find(({ id }) => !known.has(id));
      if (found !== undefined && this.run === undefined) {
        this.#start(found.id, signal);
        return;
      }
      await pause(SEARCH_MS);
    }
  }

  /** Continues to follow the run, after the last event that arrived. */
  resume(signal: Signal): void {
    if (this.run !== undefined) this.#start(this.run, signal);
  }

  fail(error: Error): void {
    this.error = error instanceof ChatError ? error : new ChatError(0, "", error.message);
    this.#update();
  }

  close(): void {
    this.#stopTime();
  }

  /** The text of the reply, for the history of the next request. */
  text(): string {
    const known = this.#texts().join("\n\n");
    return known.length >= this.streamed.length && !isPlaceholder(known) ? known : this.streamed;
  }

  save(): SavedTurn {
    const { error } = this;
    return {
      prompt: this.prompt,
      model: this.model,
      ...(this.run === undefined ? {} : { run: this.run }),
      lines: this.lines,
      lastId: this.lastId,
      streamed: this.streamed,
      ...(error === undefined
        ? {}
        : { error: { status: error.status, code: error.code, message: error.message } }),
    };
  }

  /** The turn as plain data; the same object until something changes. */
  view(): ChatTurn {
    this.#shown ??= this.#make();
    return this.#shown;
  }

  #make(): ChatTurn {
    const { runs, tasks } = this.#session.getSnapshot();
    const snapshot = runs.find(({ id }) => id === this.run);
    return {
      key: this.key,
      prompt: this.prompt,
      model: this.model,
      run: this.run,
      snapshot,
      items: this.#items(snapshot),
      tasks,
      connection: this.#connection,
      error: this.error,
      isOver: this.error !== undefined || snapshot?.phase === "ended",
    };
  }

  /** The parts in their order. Streamed text that no event has yet is the last part. */
  #items(snapshot: RunSnapshot | undefined): readonly ChatItem[] {
    const texts = (snapshot?.texts ?? []).filter(({ parent }) => parent === undefined);
    const items: ChatItem[] = [
      ...texts.map((text) => ({ type: text.kind, id: `${text.kind} ${text.id}`, text })),
      ...(snapshot?.tools ?? [])
        .filter(({ parent }) => parent === undefined)
        .map((tool) => ({ type: "tool" as const, id: `tool ${tool.turn} ${tool.call}`, tool })),
    ];
    const place = ({ id }: ChatItem) => this.#order.get(id) ?? Number.MAX_SAFE_INTEGER;
    items.sort((one, other) => place(one) - place(other));
    const known = this.#texts().join("\n\n");
    if (isPlaceholder(known) && this.streamed !== "") {
      return [...items.filter(({ type }) => type !== "text"), streamedItem(this.streamed, true)];
    }
    if (this.streamed.length <= known.length || !this.streamed.startsWith(known)) return items;
    const rest = this.streamed.slice(known.length);
    const last = items.at(-1);
    if (last?.type === "text" && !rest.startsWith("\n\n")) {
      const text = { ...last.text, text: last.text.text + rest };
      return [...items.slice(0, -1), { ...last, text }];
    }
    return rest.trim() === "" ? items : [...items, streamedItem(rest.trimStart(), false)];
  }

  #texts(): readonly string[] {
    const run = this.#session.getSnapshot().runs.find(({ id }) => id === this.run);
    const own = (run?.texts ?? []).filter(
      ({ kind, parent }) => kind === "text" && parent === undefined,
    );
    return own.map(({ text }) => text);
  }

  #start(run: string, signal: Signal): void {
    if (this.#following) return;
    this.#following = true;
    this.run = run;
    this.#update();
    void this.#follow(run, signal);
  }

  async #follow(run: string, signal: Signal): Promise<void> {
    const options: FollowOptions = {
      session: this.#session,
      signal,
      lastEventId: this.lastId,
      // Events may arrive in any order: the machine knows when the run is over.
      until: "abort",
      headers: this.client.authorization(),
      backOff: { first: 400, most: 8_000 },
      fetch: (url, init) => this.client.fetch(url, { method: "GET", ...init }),
    };
    const path = `/v1/runs/${encodeURIComponent(run)}/events?format=jsonl`;
    for await (const update of follow(this.client.address(path), options)) {
      switch (update.type) {
        case "connected":
          this.#connect({ type: "connected" });
          break;
        case "event":
          this.lines.push(update.data);
          this.lastId = update.id;
          break;
        case "disconnected":
          if (this.view().isOver) {
            this.#connect({ type: "over" });
            return;
          }
          this.#connect({ type: "lost", why: update.why, retryIn: update.retryIn });
          break;
        case "refused":
          this.fail(new ChatError(update.status, "", ""));
          break;
        case "ended":
          this.#connect({ type: "over" });
          break;
      }
    }
  }

  /** Reads the reply itself: it has every word as soon as the model has said it. */
  async #stream(body: BodyLike, signal: Signal): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const events = new ServerEvents("", LONGEST_EVENT);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        for (const { data } of events.push(decoder.decode(value, { stream: true }))) {
          this.streamed += deltaOf(data);
        }
        this.#update();
      }
    } catch {
      // The connection is lost. The run goes on, and its events are followed.
    } finally {
      void reader.cancel().catch(() => undefined);
    }
  }

  #apply(line: string): void {
    this.lines.push(line);
    this.#session.apply(line, Date.now());
  }

  #remember(effect: Effect): void {
    if (effect.type !== "show") return;
    const { change } = effect;
    const note = (id: string) => {
      if (!this.#order.has(id)) this.#order.set(id, this.#order.size);
    };
    // A text that is opened again, and a thought, have an id of their own as parts.
    if (change.type === "textOpened") {
      note(`text ${change.part.id.replace(/~\d+$/, "")}`);
    } else if (change.type === "thoughtOpened") {
      note(`thought ${change.part.id.replace(/^thought-|~\d+$/g, "")}`);
    } else if (change.type === "toolOpened") {
      note(`tool ${change.tool.turn} ${change.tool.call}`);
    }
  }

  #connect(connection: ChatConnection): void {
    this.#connection = connection;
    this.#update();
  }

  #update(): void {
    this.#shown = undefined;
    this.changed();
  }
}

function streamedItem(text: string, complete: boolean): ChatItem {
  return { type: "text", id: "streamed", text: { id: "streamed", kind: "text", text, complete } };
}

/** A gateway that keeps no content names the length of a text in its place. */
function isPlaceholder(text: string): boolean {
  return /^\[\d+ characters?, not recorded\]/.test(text);
}

/** The text in an event of a streamed reply. */
function deltaOf(data: string): string {
  if (data === "[DONE]") return "";
  try {
    const { choices } = JSON.parse(data) as {
      choices?: readonly { delta?: { content?: unknown } }[];
    };
    const content = choices?.[0]?.delta?.content;
    return typeof content === "string" ? content : "";
  } catch {
    return "";
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, milliseconds);
  });
}
