/** The tool calls of a run as rows. Calls of a sub-agent are below their parent call. */

import type { ToolTruth } from "../../run.js";

export interface CallRow {
  readonly tool: ToolTruth;
  readonly depth: number;
  /** Whether the previous row, or the next one, belongs to the same message of the model. */
  readonly joinedUp: boolean;
  readonly joinedDown: boolean;
}

/** A unique key for a call. */
export function keyOf({ call, turn }: { call: string; turn: number }): string {
  return `${turn} ${call}`;
}

/** The rows, in order. A call with an unknown parent is a top-level row. */
export function rowsOf(tools: readonly ToolTruth[]): readonly CallRow[] {
  const latest = new Map<string, number>();
  const children = new Map<number, number[]>();
  const roots: number[] = [];
  tools.forEach(({ call }, at) => {
    if (!latest.has(call)) latest.set(call, at);
  });
  tools.forEach((tool, at) => {
    const parent = tool.parent === undefined ? undefined : latest.get(tool.parent);
    if (parent === undefined || parent === at || isBelow(tools, latest, parent, at)) roots.push(at);
    else children.set(parent, [...(children.get(parent) ?? []), at]);
  });
  const rows: { tool: ToolTruth; depth: number }[] = [];
  const stack = roots.reverse().map((at) => ({ at, depth: 0 }));
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const tool = tools[top.at];
    if (tool !== undefined) rows.push({ tool, depth: top.depth });
    const below = children.get(top.at) ?? [];
    for (let at = below.length - 1; at >= 0; at -= 1) {
      stack.push({ at: below[at] ?? 0, depth: top.depth + 1 });
    }
  }
  const joined = (one: number, other: number) => {
    const [a, b] = [rows[one], rows[other]];
    if (a === undefined || b === undefined) return false;
    return a.depth === 0 && b.depth === 0 && a.tool.turn === b.tool.turn && a.tool.turn > 0;
  };
  return rows.map((row, at) => ({
    ...row,
    joinedUp: joined(at - 1, at),
    joinedDown: joined(at, at + 1),
  }));
}

/** Whether `goal` is an ancestor of `start`: then the parents form a cycle. */
function isBelow(
  tools: readonly ToolTruth[],
  latest: ReadonlyMap<string, number>,
  start: number,
  goal: number,
): boolean {
  let at: number | undefined = start;
  for (let steps = 0; at !== undefined && steps < 64; steps += 1) {
    if (at === goal) return true;
    const parent: string | undefined = tools[at]?.parent;
    at = parent === undefined ? undefined : latest.get(parent);
  }
  return at !== undefined;
}

/** Round times for an axis, about `maxTicks` of them. */
export function ticks(length: number, maxTicks: number): readonly number[] {
  if (length <= 0) return [0];
  const raw = length / maxTicks;
  const steps = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5,
    36e5, 72e5, 216e5, 864e5,
  ];
  const step = steps.find((one) => one >= raw) ?? Math.ceil(raw / 864e5) * 864e5;
  const all: number[] = [];
  for (let at = 0; at <= length; at += step) all.push(at);
  return all;
}

/** The least width of the axis on a phone, and the width of a character of its labels, in pixels. */
const NARROW_AXIS = 105;
const LABEL_CHARACTER = 6.2;

/**
 * Whether a label is shown that begins at a share of the axis. On a phone nothing is behind the end of the
 * axis, so the whole label has to fit; otherwise it only must not touch the header of the next column.
 */
export function isLabelShown(share: number, label: string, narrow: boolean): boolean {
  if (!narrow) return share < 0.92;
  return share * NARROW_AXIS + label.length * LABEL_CHARACTER <= NARROW_AXIS;
}
