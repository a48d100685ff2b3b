// Node, Deno and Bun: a module is compiled when the first function needs it. That for requests is built for speed.

import { readFileSync } from "node:fs";

import { Engines } from "./engine.js";
import { functionsOf } from "./functions.js";

const small = () => new WebAssembly.Module(readFileSync(new URL("../foxwedge-node.wasm", import.meta.url)));
const all = () => new WebAssembly.Module(readFileSync(new URL("../foxwedge-all.wasm", import.meta.url)));
const foxwedge = functionsOf(new Engines([small, all]));

export const { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter } = foxwedge;
export const { FoxwedgeError } = foxwedge;

/** Nothing to wait for here; so that the same program runs in a browser. */
export async function load() {}

/** Nothing to wait for here either. */
export async function loadAll() {}

/** Nor here. */
export async function loadCheck() {}
