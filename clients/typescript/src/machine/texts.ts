/** The texts and thoughts of a run, and its final text. */

import type { Change, Effect, Part } from "../effect.js";
import type { Text } from "../event.js";
import { isBlank } from "../text.js";

/** Text or reasoning. */
export type TextKind = "text" | "thought";

/** A text or thought. */
export interface TextItem {
  readonly id: string;
  readonly kind: TextKind;
  /** The call whose sub-agent wrote it. */
  readonly parent: string | undefined;
  /** The text so far. */
  text: string;
  /** Whether the text is complete. */
  complete: boolean;
  /** How many characters are shown. */
  shown: number;
  /** The number of parts it is shown in. */
  parts: number;
  /** Whether the machine assigned its id. */
  readonly anonymous: boolean;
}

/** The texts of a run. */
export class RunTexts {
  readonly items: TextItem[] = [];
  readonly #byId = new Map<string, TextItem>();
  readonly #parts = new Set<string>();
  /** The text that is currently open in the user interface. */
  #open: { item: TextItem; part: Part } | undefined;
  #anonymous = 0;

  /** Applies a delta or a full text. Returns whether anything is new. */
  take(kind: TextKind, text: Text, run: string, effects: Effect[]): boolean {
    if (!text.delta && text.full === undefined) return false;
    const item = this.#find(kind, text);
    if (item.complete) return false;
    item.text += text.delta ?? "";
    if (text.full !== undefined) {
      // Shown text cannot be taken back; the stored text is the full one.
      if (!text.full.startsWith(item.text)) item.shown = text.full.length;
      item.text = text.full;
      item.complete = true;
    }
    this.#show(item, run, effects);
    return true;
  }

  /** Closes the open text. */
  close(run: string, effects: Effect[]): void {
    if (this.#open === undefined) return;
    const { item, part } = this.#open;
    this.#open = undefined;
    showChange(run, effects, { type: `${item.kind}Closed`, part });
  }

  /** The kind of the open text. */
  live(): TextKind | undefined {
    return this.#open?.item.kind;
  }

  /** The final text of the run: its last complete text, otherwise everything streamed. */
  finalText(): string | undefined {
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

  /** A text without an id continues until another text starts. */
  #unnamed(kind: TextKind, parent: string | undefined): TextItem {
    const item = this.#open?.item;
    const continues = item?.anonymous === true && !item.complete;
    if (continues && item.kind === kind && item.parent === parent) return item;
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
      showChange(run, effects, { type: `${item.kind}Delta`, part, delta });
    }
    if (item.complete && this.#open?.item === item) this.close(run, effects);
  }

  /** Opens a part for a text: its first, or another one after a different text. */
  #begin(item: TextItem, run: string, effects: Effect[]): Part {
    this.close(run, effects);
    const part: Part = { id: this.#partId(item), parent: item.parent };
    this.#open = { item, part };
    showChange(run, effects, { type: `${item.kind}Opened`, part });
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

function showChange(run: string, effects: Effect[], change: Change): void {
  effects.push({ type: "show", run, change });
}
