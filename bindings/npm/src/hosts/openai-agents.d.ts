import type { CheckOptions } from "foxwedge";

/** For `run(agent, input, { callModelInputFilter: repairInput() })`. */
export function repairInput(
  options?: CheckOptions,
): <Data extends { input: any[] }>(given: { modelData: Data }) => Data;

/** A session whose items are repaired when they are read. */
export function repairSession<Session extends object>(session: Session, options?: CheckOptions): Session;

/** The items of a run or a session, repaired. Where nothing is wrong, it is the same array. */
export function repairItems<Item>(items: Item[], options?: CheckOptions): Item[];
