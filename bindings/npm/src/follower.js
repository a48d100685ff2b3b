// Follows an agent in memory; for a module that is loaded when the first follower needs it.

import { Engine, FoxwedgeError, NO_STREAM, decoder } from "./engine.js";
import { documentOf } from "./functions.js";

export function followerOf(loadModule) {
  let engine;

  /** Follows an agent: what it printed and what its host did in, run events out. */
  return class AgentFollower {
    #handle = NO_STREAM;
    #clock;
    #instance;
    /** What the agent is doing: `idle`, `streaming`, `waiting` or `complete`. */
    state = "idle";
    /** The calls that it waits for. */
    calls = [];

    constructor({ clock, ...options } = {}) {
      engine ??= new Engine(loadModule());
      this.#clock = clock;
      this.#handle = engine.openFollower(options);
      this.#instance = engine.wasm;
    }

    message(message) {
      return this.#step("message", message);
    }

    host(message) {
      return this.#step("host", message);
    }

    asked(request) {
      return this.#step("asked", request);
    }

    decision(decision) {
      return this.#step("decision", decision);
    }

    prompt(message, { run } = {}) {
      return this.#step("prompt", { message, run });
    }

    interrupt() {
      return this.#step("interrupt", "");
    }

    settle() {
      return this.#step("settle", "");
    }

    finish(exit = {}) {
      const events = this.#step("finish", exit);
      this.close();
      return events;
    }

    /** Forgets an agent that is not to be finished. */
    close() {
      if (this.#instance === engine.wasm) engine.closeFollower(this.#handle);
      this.#handle = NO_STREAM;
    }

    #step(step, body) {
      // Its state was lost with the instance; in the new one its handle is another follower's.
      if (this.#instance !== engine.wasm) {
        throw new FoxwedgeError({ kind: "internal", message: "the engine has stopped, and the follower with it" });
      }
      const { report, document } = engine.stepFollower(this.#handle, step, documentOf(body), this.#clock?.());
      Object.assign(this, report);
      const lines = decoder.decode(document).split("\n");
      return lines.slice(0, -1).map((line) => JSON.parse(line));
    }
  };
}
