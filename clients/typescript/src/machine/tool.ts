/**
 * The state of one call: the known facts, and the status that follows from them.
 *
 * Facts only accumulate, so their order of arrival does not matter. The first result settles a
 * call. After that only two facts count, because they explain the result: that the call was
 * denied, and which tool it is (denying a question is a hand-over). So a settled status moves in
 * one direction only, from `failed` or `interrupted` to `denied` to `handed_over`, and never after
 * the end of its run.
 *
 * The wording of a result decides nothing, since it can be in any language.
 */

import type { Change, ToolRef } from "../effect.js";
import type { How, ToolResult } from "../event.js";
import { placeholderText } from "../placeholder.js";
import type { Settings } from "../settings.js";
import { type Reason, type Status, isFinal, ofHow } from "../status.js";
import { trimStart } from "../text.js";
import { Json } from "../value.js";
import { type ApprovalState, isOpen, showRequests } from "./asks.js";

/** A tool call of a run. */
export class ToolCallState {
  /** The name of the tool. */
  name: string | undefined;
  /** The call whose sub-agent made it. */
  parent: string | undefined;
  /** A title for people. */
  title: string | undefined;
  /** Its arguments, once they are complete. */
  input: Json | undefined;
  /** Its approval requests and questions. */
  readonly asks: ApprovalState[] = [];
  /** Why it ended, if the status alone does not tell. */
  reason: Reason | undefined;
  /** The content of the tool result. */
  content: Json | undefined;
  /** Its turn, if an event named it, or the current turn when it was called. */
  turn: number | undefined;
  /** Whether an event named the turn. */
  explicit = false;
  /** The deltas of its arguments, joined. */
  arguments = "";
  /** Whether the call itself has arrived, or only its result so far. */
  called = false;
  begun = false;
  odd = false;
  /** The final status that follows from the facts. */
  settled: Status | undefined;
  /** How it ended, as its source reports. Undefined for a call that the machine closed. */
  #how: How | undefined;
  /** Whether a person denied it. */
  #denied = false;
  /** A denial that arrived before the name. Its meaning depends on the tool. */
  #denial: ToolResult | undefined;
  /** What the user interface already shows. */
  readonly #shown: { opened: boolean; arguments: number; ready: boolean; status?: Status } = {
    opened: false,
    arguments: 0,
    ready: false,
  };

  /** `call` is its id; `local-<run>-<n>` if the source has none. */
  constructor(readonly call: string) {}

  /** The status that follows from the facts. */
  status(): Status {
    if (this.settled !== undefined) return this.settled;
    if (this.isAsking()) return "awaiting_approval";
    if (this.begun) return "running";
    return this.odd ? "unknown" : "pending";
  }

  /** The reference of the call. */
  reference(): ToolRef {
    return { call: this.call, turn: this.turn ?? 0 };
  }

  /** The content of the tool result, or the placeholder for it. */
  resultContent(): Json {
    if (this.content !== undefined) return this.content;
    return Json.string(placeholderText(this.status(), this.reason, this.name) ?? "");
  }

  /** Whether it waits for a person. */
  isAsking(): boolean {
    return this.isOpen() && this.asks.some(isOpen);
  }

  isOpen(): boolean {
    return this.settled === undefined;
  }

  isInteractive(settings: Settings): boolean {
    return this.name !== undefined && settings.interactive.includes(this.name);
  }

  setName(name: string | undefined, settings: Settings): void {
    if (this.name !== undefined || name === undefined) return;
    this.name = name;
    const denial = this.#denial;
    this.#denial = undefined;
    if (denial !== undefined) this.applyResult(denial, settings);
    else this.#updateStatus(settings);
  }

  /**
   * Applies a result: the first one, or a later one that reports a denial or a hand-over. Returns
   * whether anything is new.
   */
  applyResult(result: ToolResult, settings: Settings): boolean {
    const { how } = result;
    if (this.settled !== undefined) {
      if (how === "denied") return this.deny(settings);
      return how === "handed_over" && this.#handOver();
    }
    if (this.#denial !== undefined) {
      // Only the component that closed the call can add to it now.
      if (result.reason === undefined) return false;
      this.close(ofHow(how).status, result.reason);
      return true;
    }
    this.setName(result.name, settings);
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
    this.#updateStatus(settings);
    return true;
  }

  /**
   * Records that a person denied a call that already has its result: the result reported the
   * denial. Returns whether anything changed.
   */
  deny(settings: Settings): boolean {
    const before = this.settled;
    this.#denied = true;
    this.#updateStatus(settings);
    return this.settled !== before;
  }

  /**
   * Closes the call with the status from `statusWhenClosed`, which must be read before its requests
   * are canceled. A denial whose tool never got a name stays a denial.
   */
  close(status: Status, reason: Reason): void {
    const denial = this.#denial;
    this.#denial = undefined;
    if (denial === undefined) this.#settle(status, reason, undefined);
    else
      this.#settle(ofHow(denial.how).status, this.called ? reason : "never_called", denial.content);
  }

  /** The status that the call gets if it is closed now. */
  statusWhenClosed(): Status {
    if (this.asks.some((request) => request.verdict === "answered")) return "handed_over";
    if (this.isAsking()) return "cancelled";
    return this.begun || this.odd ? "interrupted" : "cancelled";
  }

  /** Whether a result has arrived. */
  hasResult(): boolean {
    return this.settled !== undefined || this.#denial !== undefined;
  }

  /**
   * Emits the changes that the user interface does not show yet, in order. A result without its
   * call is not shown before the end (`last`).
   */
  show(last: boolean, emit: (change: Change) => void): void {
    const shown = this.#shown;
    if (!shown.opened) {
      if (!this.called && !last) return;
      shown.opened = true;
      shown.status = "pending";
      const { parent, title } = this;
      const name = this.name ?? "unknown";
      emit({ type: "toolOpened", tool: this.reference(), name, parent, title });
    }
    if (shown.status !== undefined && isFinal(shown.status)) {
      this.#showCorrection(emit);
      return;
    }
    const delta = this.arguments.slice(shown.arguments);
    if (delta !== "" && !shown.ready) {
      emit({ type: "toolArguments", tool: this.reference(), delta });
      shown.arguments = this.arguments.length;
    }
    if (this.input !== undefined && !shown.ready) {
      shown.ready = true;
      emit({ type: "toolReady", tool: this.reference(), input: this.input });
    }
    showRequests(this, emit);
    const status = this.status();
    if (shown.status === status) return;
    shown.status = status;
    const tool = this.reference();
    if (isFinal(status)) {
      const { reason } = this;
      emit({ type: "toolSettled", tool, status, reason, content: this.resultContent() });
    } else {
      emit({ type: "toolStatus", tool, status });
    }
  }

  /** Emits a correction if a settled call has a different final status now. */
  #showCorrection(emit: (change: Change) => void): void {
    const status = this.status();
    if (this.#shown.status === status) return;
    this.#shown.status = status;
    const { reason } = this;
    emit({
      type: "toolCorrected",
      tool: this.reference(),
      status,
      reason,
      content: this.resultContent(),
    });
  }

  /** Updates the status of a settled call from all known facts. */
  #updateStatus(settings: Settings): void {
    if (!this.#canBeCorrected()) return;
    if (this.#isHandedOver(settings)) this.#handOver();
    else if (this.#denied) this.settled = "denied";
  }

  /** Whether a later fact can still change the meaning of the result. */
  #canBeCorrected(): boolean {
    return this.#how === "error" || this.#how === "interrupted" || this.#how === "denied";
  }

  /**
   * Records that a person took over the question. The content is dropped, since it is private to
   * the person and the host. Returns whether anything changed.
   */
  #handOver(): boolean {
    if (!this.#canBeCorrected()) return false;
    this.#how = "handed_over";
    this.settled = "handed_over";
    this.content = undefined;
    return true;
  }

  /**
   * Whether a person took over the question. Hosts report that to the agent as an error, with their
   * own wording. A real error is one of a call that was not accepted, or that was allowed to run.
   */
  #isHandedOver(settings: Settings): boolean {
    if (!this.isInteractive(settings)) return false;
    if (this.#denied) return true;
    const allowed = this.asks.some((request) => request.verdict === "allowed");
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
 * Whether the agent itself rejected the call before a person was asked. Claude Code marks these
 * results, and names the error type if the arguments are invalid.
 */
function isNotAccepted(content: Json | undefined): boolean {
  if (content === undefined) return false;
  const text = trimStart(content.plain());
  const body = text.startsWith("Error:") ? trimStart(text.slice("Error:".length)) : text;
  return REJECTION_MARKS.some((mark) => body.startsWith(mark));
}

const REJECTION_MARKS = ["<tool_use_error>", "InputValidationError"];
