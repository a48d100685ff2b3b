// Shortens code that ends in a trap.
//
// A panic ends in the instruction `unreachable`, after code that writes its message for people. A module without imports
// cannot show the message to anybody: the host sees a trap, and the package starts a new instance. So nothing that runs
// between the last branch and a trap can be noticed, and it is left out, with everything that only it needs.

import { OP, instructionsOf } from "./instructions.mjs";

const TRAP = { op: OP.unreachable };
/** The type of a block that leaves nothing on the stack. */
const NOTHING = -64;

/** Shortens the code of functions until nothing is left to shorten. */
export function shortenTraps(codes) {
  let pending = codes;
  while (pending.length > 0) {
    pending.forEach(shortenFunction);
    // Whatever calls a function that never returns ends there.
    const endless = new Set([...codes.keys()].filter((index) => neverReturns(codes[index])));
    pending = codes.filter((code) => replaceEndlessCalls(code, endless));
  }
}

function shortenFunction(code) {
  for (let before = 0, after = countInstructions(code); before !== after; ) {
    before = after;
    code.body = cutLists(code.body);
    code.body = joinTraps(code.body, null);
    code.body = withoutUnusedBlocks(code.body, usedTargets(code));
    after = countInstructions(code);
  }
}

/** Leaves out what cannot run, and what cannot be noticed because a trap follows. */
function cutLists(list) {
  const last = list.findIndex((item) => isTrap(item) || neverContinues(item));
  const short = last === -1 ? list : list.slice(0, last + 1);
  if (isTrap(short.at(-1))) {
    short.pop();
    while (short.length > 0 && short.at(-1).body === undefined && short.at(-1).targets === undefined) short.pop();
    short.push(TRAP);
  }
  for (const item of short) {
    if (item.body !== undefined) item.body = cutLists(item.body);
    if (item.otherwise !== undefined) item.otherwise = cutLists(item.otherwise);
  }
  return short;
}

/** Lets all branches to a trap lead to one, where there is one behind a block around all of them: `trap`. */
function joinTraps(list, trap) {
  return list.map((item, at) => {
    if (item.targets !== undefined) {
      const targets = item.targets.map((target) => target.trap ?? target);
      return item.op === OP.br && targets[0] === trap ? TRAP : { ...item, targets };
    }
    if (item.body === undefined) return item;
    item.trap = undefined;
    if (item.op === OP.block && item.type < 0 && isTrap(list[at + 1])) {
      item.trap = trap ?? item;
      // A value on the stack would be for the code that was left out.
      if (item.type !== NOTHING) item.body.push(TRAP);
      item.type = NOTHING;
    }
    item.body = joinTraps(item.body, item.trap ?? trap);
    if (item.otherwise !== undefined) item.otherwise = joinTraps(item.otherwise, item.trap ?? trap);
    return item;
  });
}

/** Puts the instructions of blocks that no branch leaves into the list around them. */
function withoutUnusedBlocks(list, used) {
  return list.flatMap((item) => {
    if (item.body === undefined) return [item];
    item.body = withoutUnusedBlocks(item.body, used);
    if (item.otherwise !== undefined) item.otherwise = withoutUnusedBlocks(item.otherwise, used);
    const isUnused = item.op !== OP.if && item.type < 0 && !used.has(item);
    return isUnused ? item.body : [item];
  });
}

function isTrap(item) {
  return item !== undefined && item.op === OP.unreachable;
}

function neverContinues({ op }) {
  return op === OP.br || op === OP.brTable || isReturn(op);
}

function isReturn(op) {
  return op === OP.return || op === OP.returnCall || op === OP.returnCallIndirect;
}

function usedTargets(code) {
  const used = new Set();
  for (const { targets } of instructionsOf(code)) targets?.forEach((target) => used.add(target));
  return used;
}

function countInstructions(code) {
  let count = 0;
  for (const _ of instructionsOf(code)) count++;
  return count;
}

/** Whether each path through a function ends in a trap, or goes on for ever. */
function neverReturns(code) {
  if (!isTrap(code.body.at(-1))) return false;
  for (const { op, targets } of instructionsOf(code)) {
    if (isReturn(op) || targets?.includes(code)) return false;
  }
  return true;
}

/** Puts a trap in the place of calls that do not return; whether there were any. */
function replaceEndlessCalls(block, endless) {
  let isChanged = false;
  for (const list of [block.body, block.otherwise ?? []]) {
    list.forEach((item, at) => {
      if (item.op === OP.call && endless.has(item.callee)) {
        list[at] = TRAP;
        isChanged = true;
      } else if (item.body !== undefined && replaceEndlessCalls(item, endless)) {
        isChanged = true;
      }
    });
  }
  return isChanged;
}
