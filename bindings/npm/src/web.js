// Browsers and edge runtimes: `await loadCheck()`, `await load()` or `await loadAll()` once, before the other functions.

import { Engines, FoxwedgeError as EngineError } from "./engine.js";
import { functionsOf } from "./functions.js";

const modules = {};
const loaders = ["loadCheck", "load", "loadAll"];
const missing = (place) => {
  const needed = loaders[Math.max(place, 1)];
  return new EngineError({ kind: "not-loaded", message: `call \`await ${needed}()\` first` });
};

const engines = new Engines(loaders.map((name) => () => modules[name]), missing);
const foxwedge = functionsOf(engines);

export const { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter } = foxwedge;
export const { FoxwedgeError } = foxwedge;

/** Loads the smallest engine, which only checks and fixes: from a compiled module, bytes, a response, or from beside this file. */
export async function loadCheck(source) {
  modules.loadCheck ??= await compiled(source ?? fetch(new URL("../foxwedge-check.wasm", import.meta.url)));
}

/** Loads the engine for requests, which also compacts and converts. */
export async function load(source) {
  modules.load ??= await compiled(source ?? fetch(new URL("../foxwedge.wasm", import.meta.url)));
}

/** Loads the engine with everything: also session files, lists of the AI SDK, responses, streams and explanations. */
export async function loadAll(source) {
  modules.loadAll ??= await compiled(source ?? fetch(new URL("../foxwedge-all.wasm", import.meta.url)));
}

/** A module, from whatever holds it. */
export async function compiled(source) {
  const found = await source;
  const bytes = found instanceof Response ? await found.arrayBuffer() : found;
  return bytes instanceof WebAssembly.Module ? bytes : WebAssembly.compile(bytes);
}
