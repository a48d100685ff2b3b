/** The order of sessions in the list: by a column, or those that need attention first. */

import { HEALTHS, type SessionRow } from "./types.js";

export const COLUMNS = ["health", "title", "agent", "findings", "messages", "size", "touched"] as const;
export type Column = (typeof COLUMNS)[number];

/** A column and its direction. Without one, sessions that need attention are first. */
export interface SessionOrder {
  readonly column: Column;
  readonly descending: boolean;
}

/** Parses `size` or `-size`. */
export function parseOrder(text: string): SessionOrder | undefined {
  const column = COLUMNS.find((one) => one === text.replace(/^-/, ""));
  return column && { column, descending: text.startsWith("-") };
}

/** The order after a press on a column: its natural direction, the other one, none. */
export function nextOrder(now: SessionOrder | undefined, column: Column): string {
  const descendingFirst = !["health", "title", "agent"].includes(column);
  const first = descendingFirst ? `-${column}` : column;
  if (now?.column !== column) return first;
  if (now.descending === descendingFirst) return descendingFirst ? column : `-${column}`;
  return "";
}

/** Whether a session needs a person: its agent cannot open it, or leaves something out. */
export function needsAttention({ health }: SessionRow): boolean {
  return health === "needs-repair" || health === "history-missing";
}

/** Whether the console can repair a session. */
export function isRepairable(row: SessionRow): boolean {
  return row.source === "file" && row.repairable === true && needsAttention(row);
}

export function sortRows(
  rows: readonly SessionRow[],
  order: SessionOrder | undefined,
): readonly SessionRow[] {
  const newest = (one: SessionRow, other: SessionRow) => other.touched - one.touched;
  if (order === undefined) {
    const rank = (row: SessionRow) => (needsAttention(row) ? HEALTHS.indexOf(row.health) : 9);
    return [...rows].sort((one, other) => rank(one) - rank(other) || newest(one, other));
  }
  const sign = order.descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [valueOf(one, order.column), valueOf(other, order.column)];
    const difference =
      typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : Number(a) - Number(b);
    return sign * difference || newest(one, other);
  });
}

function valueOf(row: SessionRow, column: Column): string | number {
  switch (column) {
    case "health":
      return HEALTHS.indexOf(row.health);
    case "title":
      return (row.title ?? row.session).toLowerCase();
    case "agent":
      return (row.product ?? row.agent ?? row.source).toLowerCase();
    case "findings":
      return Object.values(row.findings ?? {}).reduce((sum, n) => sum + n, 0);
    case "messages":
      return row.messages ?? row.records ?? -1;
    case "size":
      return row.size ?? -1;
    case "touched":
      return row.touched;
  }
}
