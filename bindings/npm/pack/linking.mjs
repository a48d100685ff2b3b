// What the linker knows about a module that was linked with `--emit-relocs`: which functions and data each function and
// each piece of data refers to.

import { Reader } from "./binary.mjs";

const [FUNCTION, DATA] = [0, 1];
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;
const SYMBOL_TABLE = 8;
/** The kinds of references that are followed by an addend: those into memory, and those into sections of tools. */
const WITH_ADDEND = [3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 21, 22, 23, 25];

/** The symbols of a module: `{ callee }` of a function, `{ segment, start, end }` of data, or `null`. */
export function readSymbols(section) {
  const reader = new Reader(section);
  reader.number();
  while (!reader.isDone) {
    const kind = reader.byte();
    const content = reader.take(reader.number());
    if (kind === SYMBOL_TABLE) return new Reader(content).list(readSymbol);
  }
  throw new Error("the linker wrote no symbols");
}

function readSymbol(reader) {
  const [kind, flags] = [reader.byte(), reader.number()];
  const isDefined = (flags & UNDEFINED) === 0;
  if (kind === DATA) {
    reader.text();
    if (!isDefined) return null;
    const [segment, start, length] = [reader.number(), reader.number(), reader.number()];
    return { segment, start, end: start + length };
  }
  const index = reader.number();
  if (kind !== 3 && (isDefined || flags & EXPLICIT_NAME)) reader.text();
  return kind === FUNCTION ? { callee: index } : null;
}

/** The numbers of the symbols that a section refers to, by the place of the reference in the section. */
export function readReferences(section) {
  const reader = new Reader(section);
  reader.number();
  const references = reader.list(() => {
    const [kind, place, symbol] = [reader.byte(), reader.number(), reader.number()];
    if (WITH_ADDEND.includes(kind)) reader.signed();
    // A type is no symbol.
    return [place, kind === 6 ? undefined : symbol];
  });
  return new Map(references);
}
