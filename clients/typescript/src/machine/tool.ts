/**
 * One call: what is known about it, and the status that follows from it.
 *
 * Facts only grow, so the order in which they come does not matter: a call is running if it was
 * said to have begun, whenever that was said. What is settled stays settled.
 */

import type { Change, ToolRef } from "../effect.js";
import type { ToolResult } from "../event.js";
import { standIn } from "../placeholder.js";
import type { Settings } from "../settings.js";
import { type Reason, type Status, isFinal, ofHow } from "../status.js";
import { isLonger } from "../text.js";
import { Json } from "../value.js";
import { type Asked, isOpen, showAsks } from "./asks.js";

/** A call of a run. */
export class Tool {
  /** The tool. */
  name: string | undefined;
  /** The call whose sub-agent makes it. */
  parent: string | undefined;
  /** What a person may read about it. */
  title: string | undefined;
  /** Its arguments, once they are complete. */
  input: Json | undefined;
  /** What it asked a person. */
  readonly asks: Asked[] = [];
  /** Why it came to its end, where the status does not say it. */
  reason: Reason | undefined;
  /** What it answered. */
  content: Json | undefined;
  /** Its turn, if anybody said so, or if it was the current one when it was called. */
  turn: number | undefined;
  /** Whether somebody said so. */
  explicit = false;
  /** The pieces of its arguments. */
  arguments = "";
  /** Whether it was called, or only answered so far. */
  called = false;
  begun = false;
  odd = false;
  settled: Status | undefined;
  /** A denial that came before the name: what it means depends on the tool. */
  #denial: ToolResult | undefined;
  /** What a user interface knows already. */
  readonly #shown: { opened: boolean; arguments: number; ready: boolean; status?: Status } = {
    opened: false,
    arguments: 0,
    ready: false,
  };

  /** Its id; `local-<run>-<n>` if its source gave none. */
  constructor(readonly call: string) {}

  /** What is known about it, in one word. */
  status(): Status {
    if (this.settled !== undefined) return this.settled;
    if (this.isAsking()) return "awaiting_approval";
    if (this.begun) return "running";
    return this.odd ? "unknown" : "pending";
  }

  /** How others call it. */
  reference(): ToolRef {
    return { call: this.call, turn: this.turn ?? 0 };
  }

  /** What it answered, or the words that stand for it. */
  told(): Json {
    return this.content ?? Json.string(standIn(this.status(), this.reason, this.name) ?? "");
  }

  /** Whether a person has to decide something. */
  isAsking(): boolean {
    return this.isOpen() && this.asks.some(isOpen);
  }

  isOpen(): boolean {
    return this.settled === undefined;
  }

  isInteractive(settings: Settings): boolean {
    return this.name !== undefined && settings.interactive.includes(this.name);
  }

  named(name: string | undefined, settings: Settings): void {
    if (this.name !== undefined || name === undefined) return;
    this.name = name;
    const denial = this.#denial;
    this.#denial = undefined;
    if (denial !== undefined) this.answer(denial, settings);
  }

  /** Takes an answer, the first one. Tells whether it was the first. */
  answer(result: ToolResult, settings: Settings): boolean {
    if (this.settled !== undefined) return false;
    if (this.#denial !== undefined) {
      // Only whoever closed the call says more about it by now.
      if (result.reason === undefined) return false;
      this.close(ofHow(result.how).status, result.reason);
      return true;
    }
    this.named(result.name, settings);
    const { how, content } = result;
    const denied = how === "denied" || (how === "error" && soundsDenied(content));
    // What a denial means depends on the tool.
    if (denied && this.name === undefined) {
      this.#denial = result;
      return true;
    }
    const { status, reason = result.reason } = ofHow(how);
    const handedOver = status === "handed_over" || (denied && this.isInteractive(settings));
    if (handedOver) this.#settle("handed_over", reason, undefined);
    else this.#settle(status, reason, content);
    return true;
  }

  /**
   * The end of it, as `closed` said before anybody was sent away. A denial whose tool never got a
   * name is what it says it is by now.
   */
  close(status: Status, reason: Reason): void {
    const denial = this.#denial;
    this.#denial = undefined;
    if (denial === undefined) this.#settle(status, reason, undefined);
    else
      this.#settle(ofHow(denial.how).status, this.called ? reason : "never_called", denial.content);
  }

  /** What it becomes if everything ends now. It never claims more than is known. */
  closed(): Status {
    if (this.asks.some((asked) => asked.verdict === "answered")) return "handed_over";
    if (this.isAsking()) return "cancelled";
    return this.begun || this.odd ? "interrupted" : "cancelled";
  }

  /** Whether an answer came, whatever it means. */
  hasAnswer(): boolean {
    return this.settled !== undefined || this.#denial !== undefined;
  }

  /**
   * Tells what a user interface does not know yet, in the order it needs. An answer without its
   * call is not shown before the end (`last`).
   */
  show(last: boolean, tell: (change: Change) => void): void {
    const shown = this.#shown;
    if (!shown.opened) {
      if (!this.called && !last) return;
      shown.opened = true;
      shown.status = "pending";
      const { parent, title } = this;
      const name = this.name ?? "unknown";
      tell({ type: "toolOpened", tool: this.reference(), name, parent, title });
    }
    if (shown.status !== undefined && isFinal(shown.status)) return;
    const delta = this.arguments.slice(shown.arguments);
    if (delta !== "" && !shown.ready) {
      tell({ type: "toolArguments", tool: this.reference(), delta });
      shown.arguments = this.arguments.length;
    }
    if (this.input !== undefined && !shown.ready) {
      shown.ready = true;
      tell({ type: "toolReady", tool: this.reference(), input: this.input });
    }
    showAsks(this, tell);
    const status = this.status();
    if (shown.status === status) return;
    shown.status = status;
    const tool = this.reference();
    if (isFinal(status)) {
      const { reason } = this;
      tell({ type: "toolSettled", tool, status, reason, content: this.told() });
    } else {
      tell({ type: "toolStatus", tool, status });
    }
  }

  #settle(status: Status, reason: Reason | undefined, content: Json | undefined): void {
    if (this.settled !== undefined) return;
    this.settled = status;
    this.reason = reason;
    this.content = content;
    this.input ??= Json.parse(this.arguments);
  }
}

/** How long a denial may be, in bytes. */
const LONGEST = 600;
const PHRASES = [
  "denied",
  "declined",
  "rejected",
  "handed over",
  "handled by",
  "doesn't want to proceed",
  "user answered",
  "waiting for the user",
];

/** Whether an error is a denial in disguise. */
function soundsDenied(content: Json | undefined): boolean {
  if (content === undefined || isLonger(content.raw, LONGEST)) return false;
  const text = content.plain().toLowerCase();
  return PHRASES.some((phrase) => text.includes(phrase));
}
