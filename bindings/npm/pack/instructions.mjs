// The code of a function as a tree of instructions: blocks hold instructions, and branches name the block they leave.
//
// An instruction is `{ op, bytes }`. Some have more:
//
//     block, loop, if          `type`, `body`, `otherwise` (of an `if` with an `else`)
//     br, br_if, br_table      `targets`: instructions of the kind above, or the function
//     call, ref.func           `callee`: the number of a function
//     local.get, .set, .tee    `local`
//     what the linker placed   `symbol`: its number, in a constant or the offset of a load or a store

import { written, writtenSigned } from "./binary.mjs";

export const OP = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  localGet: 0x20,
  localTee: 0x22,
  i32Const: 0x41,
  i64Const: 0x42,
  refFunc: 0xd2,
};

/** Reads the instructions of a function. `symbolAt` gives the number of the symbol in the operand at a place, if there is one. */
export function readCode(reader, symbolAt) {
  const code = { op: "function" };
  code.body = readList(reader, symbolAt, [code]).list;
  return code;
}

function readList(reader, symbolAt, outer) {
  const list = [];
  for (;;) {
    const op = reader.byte();
    if (op === OP.end || op === OP.else) return { list, last: op };
    list.push(readInstruction(op, reader, symbolAt, outer));
  }
}

function readInstruction(op, reader, symbolAt, outer) {
  if (op === OP.block || op === OP.loop || op === OP.if) {
    const block = { op, type: reader.signed() };
    const inner = [...outer, block];
    const { list, last } = readList(reader, symbolAt, inner);
    block.body = list;
    if (last === OP.else) block.otherwise = readList(reader, symbolAt, inner).list;
    return block;
  }
  const target = () => outer[outer.length - 1 - reader.number()];
  if (op === OP.br || op === OP.brIf) return { op, targets: [target()] };
  if (op === OP.brTable) return { op, targets: [...reader.list(target), target()] };
  if (op === OP.call || op === OP.returnCall || op === OP.refFunc) return { op, callee: reader.number() };
  if (op >= OP.localGet && op <= OP.localTee) return { op, local: reader.number() };
  const start = reader.at;
  if (op === OP.i32Const) {
    return { op, bytes: writtenSigned(reader.signed()), symbol: symbolAt(start) };
  }
  if (op >= 0x28 && op <= 0x3e) {
    const alignment = written(reader.number());
    const symbol = symbolAt(reader.at);
    return { op, bytes: [...alignment, ...written(reader.number())], symbol };
  }
  if (op === 0x11 || op === 0x13) return { op, bytes: [...written(reader.number()), ...written(reader.number())] };
  if (op === 0x23 || op === 0x24) return { op, bytes: written(reader.number()) };
  if (op === 0xfd) return readVector(reader, symbolAt);
  skipOperands(reader, op);
  return { op, bytes: [...reader.bytes.subarray(start, reader.at)] };
}

/** The operands of instructions in which the linker writes nothing. */
function skipOperands(reader, op) {
  const numbers = (count) => {
    for (let at = 0; at < count; at++) reader.number();
  };
  if (op === 0x1c) return numbers(reader.number());
  if (op === 0x43) return reader.take(4);
  if (op === 0x44) return reader.take(8);
  if (op === 0xfc) return numbers(bulkOperands(reader.number()));
  if (op === 0x25 || op === 0x26 || op === 0x3f || op === 0x40 || op === 0xd0) return numbers(1);
  if (op === OP.i64Const) {
    while (reader.byte() > 127);
    return;
  }
  const isPlain = op <= 0x01 || op === OP.return || op === 0x1a || op === 0x1b || op === 0xd1;
  if (!isPlain && !(op >= 0x45 && op <= 0xc4)) throw new Error(`the instruction ${op.toString(16)} is not known`);
}

/** How many numbers follow an instruction that works on many bytes at once. */
function bulkOperands(op) {
  if (op <= 7) return 0;
  if (op <= 17) return [2, 1, 2, 1, 2, 1, 2, 1, 1, 1][op - 8];
  throw new Error(`the instruction fc ${op.toString(16)} is not known`);
}

function readVector(reader, symbolAt) {
  const op = reader.number();
  const bytes = written(op);
  let symbol;
  const isLane = op >= 21 && op <= 34;
  const isLoadedLane = op >= 84 && op <= 91;
  if (op <= 11 || isLoadedLane || op === 92 || op === 93) {
    bytes.push(...written(reader.number()));
    symbol = symbolAt(reader.at);
    bytes.push(...written(reader.number()));
  }
  if (op === 12 || op === 13) bytes.push(...reader.take(16));
  if (isLane || isLoadedLane) bytes.push(reader.byte());
  return { op: 0xfd, bytes, symbol };
}

/** The bytes of a function as pieces, between which the numbers of `callees` belong. */
export function writeCode(locals, code) {
  const pieces = [[]];
  const callees = [];
  const add = (...bytes) => pieces[pieces.length - 1].push(...bytes);
  add(...written(locals.length), ...locals.flatMap(([count, type]) => [...written(count), type]));
  const writeList = (list, inner) => {
    for (const item of list) writeInstruction(item, inner);
  };
  const writeInstruction = (item, inner) => {
    const { op } = item;
    if (item.body !== undefined) {
      add(op, ...writtenSigned(item.type));
      writeList(item.body, [...inner, item]);
      if (item.otherwise !== undefined) {
        add(OP.else);
        writeList(item.otherwise, [...inner, item]);
      }
      return add(OP.end);
    }
    add(op);
    if (item.targets !== undefined) {
      if (op === OP.brTable) add(...written(item.targets.length - 1));
      for (const target of item.targets) add(...written(inner.length - 1 - inner.lastIndexOf(target)));
    } else if (item.callee !== undefined) {
      callees.push(item.callee);
      pieces.push([]);
    } else if (item.local !== undefined) {
      add(...written(item.local));
    } else if (item.bytes !== undefined) {
      add(...item.bytes);
    }
  };
  writeList(code.body, [code]);
  add(OP.end);
  return { pieces: pieces.map((piece) => Uint8Array.from(piece)), callees };
}

/** Every instruction of a function. */
export function* instructionsOf(block) {
  for (const list of [block.body, block.otherwise ?? []]) {
    for (const item of list) {
      yield item;
      if (item.body !== undefined) yield* instructionsOf(item);
    }
  }
}
