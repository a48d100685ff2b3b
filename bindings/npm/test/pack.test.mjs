// What packing leaves out of a module, on functions of a few instructions, and that the rest is a module that runs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Reader } from "../pack/binary.mjs";
import { readCode, writeCode } from "../pack/instructions.mjs";
import { shortenTraps } from "../pack/traps.mjs";

const [END, TRAP, RETURN] = [0x0b, 0x00, 0x0f];
const block = (...inner) => [0x02, 0x40, ...inner.flat(), END];
const valued = (...inner) => [0x02, 0x7f, ...inner.flat(), END];
const brIf = (depth) => [0x0d, depth];
const get = [0x20, 0];
const number = (value) => [0x41, value];
const call = (callee) => [0x10, callee];

/** The instructions of the first function after all have been shortened. Each is given without its end. */
function shortened(...functions) {
  const codes = functions.map((code) => readCode(new Reader(Uint8Array.from([...code.flat(), END])), () => undefined));
  shortenTraps(codes);
  const { pieces, callees } = writeCode([], codes[0]);
  const bytes = pieces.flatMap((piece, at) => [...piece, ...(at < callees.length ? [callees[at]] : [])]);
  return bytes.slice(1, -1);
}

/** The bytes of a module with one function, from a number to a number. */
function moduleOf(code) {
  const section = (id, ...content) => [id, content.length, ...content];
  const body = [0, ...code, END];
  const types = section(1, 1, 0x60, 1, 0x7f, 1, 0x7f);
  const exports = section(7, 1, 1, "f".charCodeAt(0), 0, 0);
  return Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...types, ...section(3, 1, 0), ...exports, ...section(10, 1, body.length, ...body));
}

function run(code, argument) {
  return new WebAssembly.Instance(new WebAssembly.Module(moduleOf(code))).exports.f(argument);
}

test("what runs before a trap is left out, and nothing else", () => {
  const checked = shortened([block(get, brIf(0), number(7), call(1), [TRAP]), get]);
  assert.deepEqual(checked, [block(get, brIf(0), [TRAP]), get].flat());
  assert.equal(run(checked, 3), 3);
  assert.throws(() => run(checked, 0), WebAssembly.RuntimeError);
  // The branch may lead elsewhere, so what comes before it stays.
  const stored = [block(number(1), [0x1a], get, brIf(0), [TRAP]), get];
  assert.deepEqual(shortened(stored), stored.flat());
});

test("all branches to a trap lead to one", () => {
  const nested = [block(block(get, brIf(0), get, number(1), [0x46], brIf(1), get, [RETURN]), number(4), call(1), [TRAP]), number(5), call(2), [TRAP]];
  const joined = shortened(nested);
  assert.deepEqual(joined, [block(get, brIf(0), get, number(1), [0x46], brIf(0), get, [RETURN]), [TRAP]].flat());
  assert.equal(run(joined, 0), 0);
  assert.throws(() => run(joined, 2), WebAssembly.RuntimeError);
});

test("a value that only the code before a trap took is not missed", () => {
  const taken = shortened([block(valued(get, get, brIf(0), brIf(1), get, [RETURN]), call(1), [TRAP]), number(9)]);
  assert.equal(run(taken, 0), 0);
  assert.throws(() => run(taken, 5), WebAssembly.RuntimeError);
});

test("a call of a function that never returns is a trap", () => {
  const caller = [get, call(1), number(1)];
  assert.deepEqual(shortened(caller, [number(2), call(2), [TRAP]], []), [TRAP]);
  assert.deepEqual(shortened(caller, [get, [RETURN], [TRAP]], []), caller.flat());
  const sometimes = [block(get, brIf(0), [TRAP])];
  assert.deepEqual(shortened(caller, sometimes, []), caller.flat());
});
