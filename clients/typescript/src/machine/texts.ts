/** What the model said and thought, and the one text that stands for the run. */

import type { Change, Effect, Part } from "../effect.js";
import type { Text } from "../event.js";
import { isBlank } from "../text.js";

/** Said or thought. */
export type TextKind = "text" | "thought";

/** One text. */
export interface TextItem {
  /** Its id. */
  readonly id: string;
  /** Said or thought. */
  readonly kind: TextKind;
  /** The call whose sub-agent said it. */
  readonly parent: string | undefined;
  /** All of it, so far. */
  text: string;
  /** Whether that is all. */
  complete: boolean;
  /** How much of it is shown. */
  shown: number;
  /** In how many parts. */
  parts: number;
  /** Whether its id is ours. */
  readonly anonymous: boolean;
}

/** Every text of a run. */
export class Texts {
  readonly items: TextItem[] = [];
  readonly #byId = new Map<string, TextItem>();
  readonly #parts = new Set<string>();
  /** The text that is being shown. */
  #open: { item: TextItem; part: Part } | undefined;
  #anonymous = 0;

  /** Takes a piece, or all of a text. Tells whether there was anything new in it. */
  take(kind: TextKind, text: Text, run: string, effects: Effect[]): boolean {
    if (!text.delta && text.full === undefined) return false;
    const item = this.#find(kind, text);
    if (item.complete) return false;
    item.text += text.delta ?? "";
    if (text.full !== undefined) {
      // What was shown cannot be taken back; what is kept is what was meant.
      if (!text.full.startsWith(item.text)) item.shown = text.full.length;
      item.text = text.full;
      item.complete = true;
    }
    this.#show(item, run, effects);
    return true;
  }

  /** Closes what is being shown. */
  close(run: string, effects: Effect[]): void {
    if (this.#open === undefined) return;
    const { item, part } = this.#open;
    this.#open = undefined;
    tell(run, effects, { type: `${item.kind}Closed`, part });
  }

  /** What is being said or thought right now. */
  live(): TextKind | undefined {
    return this.#open?.item.kind;
  }

  /** What the run said in the end: its last complete text, else what was streamed. */
  lastWords(): string | undefined {
    const own = this.items.filter((item) => item.kind === "text" && item.parent === undefined);
    for (let at = own.length - 1; at >= 0; at -= 1) {
      const item = own[at];
      if (item !== undefined && item.complete && !isBlank(item.text)) return item.text;
    }
    const streamed = own.map((item) => item.text).join("");
    return isBlank(streamed) ? undefined : streamed;
  }

  #find(kind: TextKind, text: Text): TextItem {
    if (!text.message) return this.#unnamed(kind, text.parent);
    const key = `${kind} ${text.message}`;
    let item = this.#byId.get(key);
    if (item === undefined) {
      item = this.#add(kind, text.parent, text.message, false);
      this.#byId.set(key, item);
    }
    return item;
  }

  /** A text without an id goes on for as long as nothing else is said. */
  #unnamed(kind: TextKind, parent: string | undefined): TextItem {
    const item = this.#open?.item;
    const goesOn = item?.anonymous === true && !item.complete;
    if (goesOn && item.kind === kind && item.parent === parent) return item;
    this.#anonymous += 1;
    return this.#add(kind, parent, `part-${this.#anonymous}`, true);
  }

  #add(kind: TextKind, parent: string | undefined, id: string, anonymous: boolean): TextItem {
    const item = { id, kind, parent, text: "", complete: false, shown: 0, parts: 0, anonymous };
    this.items.push(item);
    return item;
  }

  #show(item: TextItem, run: string, effects: Effect[]): void {
    const delta = item.text.slice(item.shown);
    if (delta !== "") {
      item.shown = item.text.length;
      const part = this.#open?.item === item ? this.#open.part : this.#begin(item, run, effects);
      tell(run, effects, { type: `${item.kind}Delta`, part, delta });
    }
    if (item.complete && this.#open?.item === item) this.close(run, effects);
  }

  /** Opens a part of its own for a text: the first, or one more after something else was said. */
  #begin(item: TextItem, run: string, effects: Effect[]): Part {
    this.close(run, effects);
    const part: Part = { id: this.#partId(item), parent: item.parent };
    this.#open = { item, part };
    tell(run, effects, { type: `${item.kind}Opened`, part });
    return part;
  }

  /** An id that no other part of the run has. */
  #partId(item: TextItem): string {
    const plain = item.kind === "text" ? item.id : `thought-${item.id}`;
    for (;;) {
      item.parts += 1;
      const id = item.parts === 1 ? plain : `${plain}~${item.parts}`;
      if (!this.#parts.has(id)) {
        this.#parts.add(id);
        return id;
      }
    }
  }
}

function tell(run: string, effects: Effect[], change: Change): void {
  effects.push({ type: "show", run, change });
}
