// Browsers and edge runtimes: `await load()` or `await loadAll()` once, before the other functions.

import { Engines, FoxwedgeError as EngineError } from "./engine.js";
import { functionsOf } from "./functions.js";

const modules = {};

function loaded(name, load) {
  if (!modules[name]) throw new EngineError({ kind: "not-loaded", message: `call \`await ${load}()\` first` });
  return modules[name];
}

const engines = new Engines(() => modules.all ?? loaded("small", "load"), () => loaded("all", "loadAll"));
const foxwedge = functionsOf(engines);

export const { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter } = foxwedge;
export const { FoxwedgeError } = foxwedge;

/** Loads the engine for requests: from a compiled module, bytes, a response, or from beside this file. */
export async function load(source) {
  modules.small ??= await compiled(source ?? fetch(new URL("../foxwedge.wasm", import.meta.url)));
}

/** Loads the engine with everything: also session files, lists of the AI SDK, responses, streams and explanations. */
export async function loadAll(source) {
  modules.all ??= await compiled(source ?? fetch(new URL("../foxwedge-all.wasm", import.meta.url)));
}

/** A module, from whatever holds it. */
export async function compiled(source) {
  const found = await source;
  const bytes = found instanceof Response ? await found.arrayBuffer() : found;
  return bytes instanceof WebAssembly.Module ? bytes : WebAssembly.compile(bytes);
}
