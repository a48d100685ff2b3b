// Functions with the same code become one, and those with similar code stand beside each other, where gzip finds what they
// share. A compiler writes one copy of a generic function for each type, in places that are farther apart than gzip looks
// back.

/** The length of the pieces in which two functions are compared. */
const PIECE = 4;
/** A piece that more functions have says nothing about any two of them. */
const COMMON = 1500;

/** For each function the first one with the same code. Those that are not `live` stay apart. */
export function mergeSame(functions, live) {
  const merged = functions.map((_, index) => index);
  for (let before = 0, after = -1; before !== after; ) {
    before = after;
    // Functions that call the same function are the same only after those have become one.
    const known = new Map();
    functions.forEach(({ type, pieces, callees }, index) => {
      if (!live.has(index)) {
        merged[index] = undefined;
        return;
      }
      const code = pieces.map((piece) => Buffer.from(piece).toString("latin1"));
      const key = JSON.stringify([type, code, callees.map((called) => merged[called])]);
      if (!known.has(key)) known.set(key, index);
      merged[index] = known.get(key);
    });
    after = known.size;
  }
  return merged;
}

/** The functions that are left, each behind the one that it has most in common with. */
export function orderBySimilarity(functions, merged) {
  const left = functions.map((_, index) => index).filter((index) => merged[index] === index);
  const codes = new Map(left.map((index) => [index, Buffer.concat(functions[index].pieces)]));
  const pieces = new Map(left.map((index) => [index, piecesOf(codes.get(index))]));
  const owners = new Map();
  for (const index of left) {
    for (const piece of pieces.get(index)) {
      if (!owners.has(piece)) owners.set(piece, []);
      owners.get(piece).push(index);
    }
  }
  const bySize = [...left].sort((one, next) => codes.get(next).length - codes.get(one).length || one - next);
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

function piecesOf(code) {
  const text = code.toString("latin1");
  const pieces = new Set();
  for (let at = 0; at + PIECE <= text.length; at++) pieces.add(text.slice(at, at + PIECE));
  return pieces;
}
