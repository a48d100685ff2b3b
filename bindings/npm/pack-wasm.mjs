// Makes a module smaller to download, without a change of what it does: functions with the same code become one, and
// those with similar code stand beside each other, where gzip finds what they share.
//
// A compiler writes one copy of a generic function for each type, in places that are farther apart than gzip looks back.

const CODE = 10;
/** The length of the pieces in which two functions are compared. */
const PIECE = 4;
/** A piece that more functions have says nothing about any two of them. */
const COMMON = 600;

/** The module with its functions in another order. */
export function packModule(bytes) {
  const sections = readSections(bytes);
  const functions = readFunctions(sections);
  const merged = mergeSame(functions);
  const order = orderBySimilarity(functions, merged);
  const places = new Map(order.map((old, place) => [old, place]));
  return writeSections(sections, functions, order, (old) => places.get(merged[old]));
}

/** Reads numbers and bytes from the front. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  list(read) {
    return Array.from({ length: this.number() }, () => read(this));
  }
}

/** The bytes of a number. */
function written(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value = Math.floor(value / 128);
  } while (value > 0);
  return bytes;
}

function readSections(bytes) {
  const reader = new Reader(bytes);
  reader.take(8);
  const sections = new Map();
  while (reader.at < bytes.length) {
    const id = reader.byte();
    const content = reader.take(reader.number());
    // A section of a tool says nothing to the engine.
    if (id !== 0) sections.set(id, content);
  }
  // Imports and a start function would have numbers of functions too.
  if (sections.has(2) || sections.has(8)) throw new Error("a module with imports cannot be packed");
  return sections;
}

/** The type of each function, and its code as `pieces`, between which the `calls` name other functions. */
function readFunctions(sections) {
  const types = new Reader(sections.get(3)).list((reader) => reader.number());
  const code = new Reader(sections.get(CODE)).list((reader) => reader.take(reader.number()));
  return code.map((bytes, index) => ({ type: types[index], bytes, ...splitAtCalls(bytes) }));
}

function splitAtCalls(bytes) {
  const reader = new Reader(bytes);
  const [pieces, calls] = [[], []];
  let start = 0;
  reader.list((locals) => [locals.number(), locals.byte()]);
  while (reader.at < bytes.length) {
    const operation = reader.byte();
    // `call`, `return_call` and `ref.func`.
    if (operation === 0x10 || operation === 0x12 || operation === 0xd2) {
      pieces.push(bytes.subarray(start, reader.at));
      calls.push(reader.number());
      start = reader.at;
    } else {
      skipOperands(reader, operation);
    }
  }
  pieces.push(bytes.subarray(start));
  return { pieces, calls };
}

function skipOperands(reader, operation) {
  const numbers = (count) => {
    for (let at = 0; at < count; at++) reader.number();
  };
  if (operation === 0x0e) return numbers(reader.number() + 1);
  if (operation === 0x1c) return numbers(reader.number());
  if (operation === 0x43) return reader.take(4);
  if (operation === 0x44) return reader.take(8);
  if (operation === 0xfc) return numbers(bulkOperands(reader.number()));
  if (operation === 0xfd) return skipVectorOperands(reader, reader.number());
  const isMemory = operation >= 0x28 && operation <= 0x3e;
  if (operation === 0x11 || operation === 0x13 || isMemory) return numbers(2);
  const isBlock = operation >= 0x02 && operation <= 0x04;
  const isBranch = operation === 0x0c || operation === 0x0d;
  const isVariable = operation >= 0x20 && operation <= 0x26;
  const isConstant = operation >= 0x3f && operation <= 0x42;
  if (isBlock || isBranch || isVariable || isConstant || operation === 0xd0) return numbers(1);
  const isPlain = operation <= 0x01 || operation === 0x05 || operation === 0x0b || operation === 0x0f;
  const isDrop = operation === 0x1a || operation === 0x1b || operation === 0xd1;
  if (!isPlain && !isDrop && !(operation >= 0x45 && operation <= 0xc4)) {
    throw new Error(`the instruction ${operation.toString(16)} is not known`);
  }
}

/** How many numbers follow an instruction that works on many bytes at once. */
function bulkOperands(operation) {
  if (operation <= 7) return 0;
  if (operation <= 17) return [2, 1, 2, 1, 2, 1, 2, 1, 1, 1][operation - 8];
  throw new Error(`the instruction fc ${operation.toString(16)} is not known`);
}

function skipVectorOperands(reader, operation) {
  const isLane = operation >= 21 && operation <= 34;
  const isLoadedLane = operation >= 84 && operation <= 91;
  const isMemory = operation <= 11 || isLoadedLane || operation === 92 || operation === 93;
  if (isMemory) reader.number(), reader.number();
  if (operation === 12 || operation === 13) reader.take(16);
  if (isLane || isLoadedLane) reader.byte();
}

/** For each function the first one with the same code. */
function mergeSame(functions) {
  const merged = functions.map((_, index) => index);
  for (let before = 0, after = -1; before !== after; ) {
    before = after;
    // Functions that call the same function are the same only after those have become one.
    const known = new Map();
    functions.forEach(({ type, pieces, calls }, index) => {
      const code = pieces.map((piece) => Buffer.from(piece).toString("latin1"));
      const key = JSON.stringify([type, code, calls.map((called) => merged[called])]);
      if (!known.has(key)) known.set(key, index);
      merged[index] = known.get(key);
    });
    after = known.size;
  }
  return merged;
}

/** The functions that are left, each behind the one that it has most in common with. */
function orderBySimilarity(functions, merged) {
  const left = functions.map((_, index) => index).filter((index) => merged[index] === index);
  const pieces = new Map(left.map((index) => [index, piecesOf(functions[index].bytes)]));
  const owners = new Map();
  for (const index of left) {
    for (const piece of pieces.get(index)) {
      if (!owners.has(piece)) owners.set(piece, []);
      owners.get(piece).push(index);
    }
  }
  const bySize = [...left].sort((one, next) => functions[next].bytes.length - functions[one].bytes.length || one - next);
  const order = [];
  const used = new Set();
  const add = (index) => {
    used.add(index);
    order.push(index);
  };
  for (const largest of bySize) {
    for (let next = largest; next !== undefined && !used.has(next); ) {
      add(next);
      next = mostSimilar(next, pieces, owners, used);
    }
  }
  return order;
}

function mostSimilar(last, pieces, owners, used) {
  const shared = new Map();
  for (const piece of pieces.get(last)) {
    const others = owners.get(piece);
    if (others.length >= COMMON) continue;
    for (const other of others) {
      if (!used.has(other)) shared.set(other, (shared.get(other) ?? 0) + 1);
    }
  }
  let best;
  let most = 0;
  for (const [other, count] of shared) {
    // Of what either of them has; small functions have little to share.
    const score = count / (pieces.get(other).size + pieces.get(last).size - count + 20);
    if (score > most) [best, most] = [other, score];
  }
  return best;
}

function piecesOf(bytes) {
  const text = Buffer.from(bytes).toString("latin1");
  const pieces = new Set();
  for (let at = 0; at + PIECE <= text.length; at++) pieces.add(text.slice(at, at + PIECE));
  return pieces;
}

function writeSections(sections, functions, order, placeOf) {
  const chosen = order.map((index) => functions[index]);
  const contents = new Map(sections);
  contents.set(3, [...written(order.length), ...chosen.flatMap(({ type }) => written(type))]);
  contents.set(7, writeExports(new Reader(sections.get(7)), placeOf));
  if (sections.has(9)) contents.set(9, writeElements(new Reader(sections.get(9)), placeOf));
  const bodies = chosen.map(({ pieces, calls }) => {
    const parts = pieces.flatMap((piece, at) => (at < calls.length ? [piece, written(placeOf(calls[at]))] : [piece]));
    return sized(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
  });
  contents.set(CODE, Buffer.concat([Uint8Array.from(written(bodies.length)), ...bodies]));
  const parts = [...contents].map(([id, content]) => Buffer.concat([Uint8Array.of(id), sized(Uint8Array.from(content))]));
  return Buffer.concat([Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0), ...parts]);
}

function sized(bytes) {
  return Buffer.concat([Uint8Array.from(written(bytes.length)), bytes]);
}

function writeExports(reader, placeOf) {
  const entries = reader.list(() => {
    const name = reader.take(reader.number());
    const kind = reader.byte();
    const index = reader.number();
    return [...written(name.length), ...name, kind, ...written(kind === 0 ? placeOf(index) : index)];
  });
  return [...written(entries.length), ...entries.flat()];
}

/** The table of functions that are called by their place in it. */
function writeElements(reader, placeOf) {
  const segments = reader.list(() => {
    const start = reader.at;
    const [kind, constant] = [reader.number(), reader.byte()];
    reader.number();
    if (kind !== 0 || constant !== 0x41 || reader.byte() !== 0x0b) throw new Error("a table of another kind");
    const head = reader.bytes.subarray(start, reader.at);
    const indexes = reader.list(() => placeOf(reader.number()));
    return [...head, ...written(indexes.length), ...indexes.flatMap(written)];
  });
  return [...written(segments.length), ...segments.flat()];
}
