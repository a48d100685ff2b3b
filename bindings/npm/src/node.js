// Node, Deno and Bun: the module is compiled when the first function is called.

import { readFileSync } from "node:fs";

import { Engine } from "./engine.js";
import { functionsOf } from "./functions.js";

let engine;

const foxwedge = functionsOf(() => {
  engine ??= new Engine(new WebAssembly.Module(readFileSync(new URL("../foxwedge.wasm", import.meta.url))));
  return engine;
});

export const { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter } = foxwedge;
export const { FoxwedgeError } = foxwedge;

/** Nothing to wait for here; so that the same program runs in a browser. */
export async function load() {}
