/** Test vectors: inputs, and the state that every implementation must reach. */

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Answer, SomeSettings, Truth } from "../src/index.js";

/** A test vector. */
export interface Vector {
  readonly file: string;
  readonly name: string;
  readonly settings?: SomeSettings;
  /** In which other orders the inputs lead to the same state, even if each is given twice. */
  readonly order?: "any" | "within runs";
  readonly inputs: readonly Input[];
  readonly truth: Truth;
  /** Announced runs and their outcomes. */
  readonly announced: readonly (readonly [string, string])[];
  /** The warning codes. */
  readonly warnings: readonly string[];
  /** Run, call, request and verdict. */
  readonly resolved?: readonly (readonly [string, string, string, string])[];
  /** The counts that only the snapshot has. */
  readonly counts?: {
    readonly waiting: number;
    readonly dropped: number;
    readonly runs: readonly object[];
  };
  /** Whether replaying its log leads to the same state. */
  readonly replay?: boolean;
}

/** An input: an event, a line, an answer, or only the time. */
export interface Input {
  readonly now: number;
  readonly event?: { readonly runId: string };
  readonly line?: string;
  readonly answer?: Answer;
  readonly routed?: string;
}

/** The folder of the vectors. */
export function folder(): string {
  const beside = fileURLToPath(new URL("../../../../fixtures/run", import.meta.url));
  return process.env["FOXWEDGE_FIXTURES"] ?? beside;
}

/** All vectors. */
export function vectors(): Vector[] {
  const files = readdirSync(folder()).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const vector = JSON.parse(readFileSync(`${folder()}/${file}`, "utf8")) as Vector;
    return { ...vector, file };
  });
}

/** Other orders of the inputs of a vector. */
export function otherOrders({ order, inputs }: Vector): Input[][] {
  switch (order) {
    case undefined:
      return [];
    case "any":
      return orders([...inputs]);
    case "within runs": {
      const runs = [...new Set(inputs.map((input) => input.event?.runId))];
      const groups = runs.map((run) => inputs.filter((input) => input.event?.runId === run));
      const [first = [], ...others] = groups.map(orders);
      return first.map((order, at) => [
        ...order,
        ...others.flatMap((other) => other[at % other.length] ?? []),
      ]);
    }
  }
}

/** All orders of a few items; some orders of many. */
function orders<T>(things: T[]): T[][] {
  if (things.length > 5) return Array.from({ length: 120 }, (_, seed) => shuffled(things, seed));
  if (things.length < 2) return [things];
  return things.flatMap((first, at) => {
    const rest = [...things.slice(0, at), ...things.slice(at + 1)];
    return orders(rest).map((order) => [first, ...order]);
  });
}

function shuffled<T>(things: T[], seed: number): T[] {
  let state = seed + 1;
  const keyed = things.map((thing) => {
    state = (state * 48_271) % 2_147_483_647;
    return { key: state, thing };
  });
  return keyed.sort((one, other) => one.key - other.key).map(({ thing }) => thing);
}
