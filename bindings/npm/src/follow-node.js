// Node, Deno and Bun: the module is compiled when the first agent is followed.

import { readFileSync } from "node:fs";

import { followerOf } from "./follower.js";

const compiled = () => new WebAssembly.Module(readFileSync(new URL("../foxwedge-follow.wasm", import.meta.url)));

export const AgentFollower = followerOf(compiled);

/** Nothing to wait for here; so that the same program runs in a browser. */
export async function loadFollow() {}
