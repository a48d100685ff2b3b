// Browsers and edge runtimes: `await loadFollow()` once, before the first follower.

import { FoxwedgeError } from "./engine.js";
import { followerOf } from "./follower.js";
import { compiled } from "./web.js";

let module;

export const AgentFollower = followerOf(() => {
  if (!module) throw new FoxwedgeError({ kind: "not-loaded", message: "call `await loadFollow()` first" });
  return module;
});

/** Loads the follower: from a compiled module, bytes, a response, or from beside this file. */
export async function loadFollow(source) {
  module ??= await compiled(source ?? fetch(new URL("../foxwedge-follow.wasm", import.meta.url)));
}
