// Browsers and edge runtimes: `await load()` once, before the other functions.

import { Engine, FoxwedgeError as EngineError } from "./engine.js";
import { functionsOf } from "./functions.js";

let engine;

const foxwedge = functionsOf(() => {
  if (!engine) throw new EngineError({ kind: "not-loaded", message: "call `await load()` first" });
  return engine;
});

export const { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter } = foxwedge;
export const { FoxwedgeError } = foxwedge;

/** Loads the engine: from a compiled module, from bytes, from a response, or from beside this file. */
export async function load(source) {
  if (engine) return;
  const found = await (source ?? fetch(new URL("../foxwedge.wasm", import.meta.url)));
  const bytes = found instanceof Response ? await found.arrayBuffer() : found;
  engine = new Engine(bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes));
}
