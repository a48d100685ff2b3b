/**
 * One call: what is known about it, and the status that follows from it.
 *
 * Facts only grow, so the order in which they come does not matter: a call is running if it was
 * said to have begun, whenever that was said. The first answer settles a call. Behind it only two
 * facts count, and both say what the answer was: that the call was denied, and which tool it is (a
 * denial of a question is a hand-over). So a settled status moves in one direction, from `failed`
 * or `interrupted` to `denied` to `handed_over`, and never behind the end of its run.
 *
 * What a text says decides nothing: it is in whatever language its author speaks.
 */

import type { Change, ToolRef } from "../effect.js";
import type { How, ToolResult } from "../event.js";
import { standIn } from "../placeholder.js";
import type { Settings } from "../settings.js";
import { type Reason, type Status, isFinal, ofHow } from "../status.js";
import { trimStart } from "../text.js";
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
  /** The final status that follows from the facts. */
  settled: Status | undefined;
  /** How it ended, as its source says. None for a call that the machine closed. */
  #how: How | undefined;
  /** Somebody said no. */
  #denied = false;
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
    else this.#judge(settings);
  }

  /**
   * Takes an answer, the first one, or a later one that says that the call was denied or handed
   * over. Tells whether it says anything new.
   */
  answer(result: ToolResult, settings: Settings): boolean {
    const { how } = result;
    if (this.settled !== undefined) {
      if (how === "denied") return this.deny(settings);
      return how === "handed_over" && this.#handOver();
    }
    if (this.#denial !== undefined) {
      // Only whoever closed the call says more about it by now.
      if (result.reason === undefined) return false;
      this.close(ofHow(how).status, result.reason);
      return true;
    }
    this.named(result.name, settings);
    if (how === "denied" && this.name === undefined) {
      this.#denial = result;
      return true;
    }
    const { status, reason = result.reason } = ofHow(how);
    this.#settle(status, reason, status === "handed_over" ? undefined : result.content);
    if (reason === undefined) {
      this.#how = how;
      this.#denied = how === "denied";
    }
    this.#judge(settings);
    return true;
  }

  /**
   * Somebody said no to a call that has its answer: that is what the answer was about. Tells
   * whether this changes anything.
   */
  deny(settings: Settings): boolean {
    const before = this.settled;
    this.#denied = true;
    this.#judge(settings);
    return this.settled !== before;
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
    if (shown.status !== undefined && isFinal(shown.status)) {
      this.#showCorrection(tell);
      return;
    }
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

  /** Tells that a call turned out to have ended otherwise than it was told. */
  #showCorrection(tell: (change: Change) => void): void {
    const status = this.status();
    if (this.#shown.status === status) return;
    this.#shown.status = status;
    const { reason } = this;
    tell({
      type: "toolCorrected",
      tool: this.reference(),
      status,
      reason,
      content: this.told(),
    });
  }

  /** The status of a call that was answered, by everything that is known by now. */
  #judge(settings: Settings): void {
    if (!this.#isExplained()) return;
    if (this.#isHandedOver(settings)) this.#handOver();
    else if (this.#denied) this.settled = "denied";
  }

  /** Whether more can be said about what came back. */
  #isExplained(): boolean {
    return this.#how === "error" || this.#how === "interrupted" || this.#how === "denied";
  }

  /**
   * A person took the question over: so it stays, and what the person said is nobody else's
   * business. Tells whether this changes anything.
   */
  #handOver(): boolean {
    if (!this.#isExplained()) return false;
    this.#how = "handed_over";
    this.settled = "handed_over";
    this.content = undefined;
    return true;
  }

  /**
   * Whether a person took the question over. The agent hears of that as an error, in words of its
   * host's own. Its own errors are those of a call that was not accepted, and of one that somebody
   * had allowed to run.
   */
  #isHandedOver(settings: Settings): boolean {
    if (!this.isInteractive(settings)) return false;
    if (this.#denied) return true;
    const allowed = this.asks.some((asked) => asked.verdict === "allowed");
    return this.#how === "error" && !allowed && !isNotAccepted(this.content);
  }

  #settle(status: Status, reason: Reason | undefined, content: Json | undefined): void {
    if (this.settled !== undefined) return;
    this.settled = status;
    this.reason = reason;
    this.content = content;
    this.input ??= Json.parse(this.arguments);
  }
}

/**
 * Whether the agent itself refused the call before anybody was asked: Claude Code marks what it
 * says then, and names the kind of error where its arguments are wrong.
 */
function isNotAccepted(content: Json | undefined): boolean {
  if (content === undefined) return false;
  const said = trimStart(content.plain());
  const text = said.startsWith("Error:") ? trimStart(said.slice("Error:".length)) : said;
  return MARKS.some((mark) => text.startsWith(mark));
}

const MARKS = ["<tool_use_error>", "InputValidationError"];
