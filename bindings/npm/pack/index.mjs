// Makes a module smaller to download, without a change of what it does.

import { Reader, sized, written } from "./binary.mjs";
import { instructionsOf, readCode, writeCode } from "./instructions.mjs";
import { readReferences, readSymbols } from "./linking.mjs";
import { mergeSame, orderBySimilarity } from "./order.mjs";
import { shortenTraps } from "./traps.mjs";

const [CUSTOM, TYPE, IMPORT, FUNCTION, EXPORT, START, ELEMENT, CODE, DATA] = [0, 1, 2, 3, 7, 8, 9, 10, 11];

/** The module with less code and data, and its functions in another order. It was linked with `--emit-relocs`. */
export function packModule(bytes) {
  const { sections, custom } = readSections(bytes);
  const symbols = readSymbols(custom.get("linking"));
  const functions = readFunctions(sections, readReferences(custom.get("reloc.CODE")));
  const segments = readSegments(sections.get(DATA), readReferences(custom.get("reloc.DATA")));
  shortenTraps(functions.map(({ code }) => code));
  const live = findLive(sections, functions, segments, symbols);
  clearDead(segments, symbols, live);
  for (const one of functions) Object.assign(one, writeCode(renumberLocals(one), one.code));
  const merged = mergeSame(functions, live.functions);
  const order = orderBySimilarity(functions, merged);
  const places = new Map(order.map((old, place) => [old, place]));
  return writeSections(sections, functions, segments, order, (old) => places.get(merged[old]));
}

function readSections(bytes) {
  const reader = new Reader(bytes);
  reader.take(8);
  const [sections, custom] = [new Map(), new Map()];
  while (!reader.isDone) {
    const id = reader.byte();
    const content = reader.take(reader.number());
    if (id !== CUSTOM) {
      sections.set(id, content);
    } else {
      const inner = new Reader(content);
      custom.set(inner.text(), content.subarray(inner.at));
    }
  }
  // Imports and a start function would have numbers of functions too.
  if (sections.has(IMPORT) || sections.has(START)) throw new Error("a module with imports cannot be packed");
  return { sections, custom };
}

/** The functions: `type`, number of `parameters`, `locals`, and `code`. */
function readFunctions(sections, references) {
  const types = new Reader(sections.get(TYPE)).list((reader) => {
    reader.byte();
    const parameters = reader.take(reader.number()).length;
    reader.take(reader.number());
    return parameters;
  });
  const kinds = new Reader(sections.get(FUNCTION)).list((reader) => reader.number());
  const section = new Reader(sections.get(CODE));
  return section.list(() => {
    const length = section.number();
    const start = section.at;
    const reader = new Reader(section.take(length));
    const locals = reader.list(() => [reader.number(), reader.byte()]);
    return { locals, code: readCode(reader, (at) => references.get(start + at)) };
  }).map((one, index) => ({ type: kinds[index], parameters: types[kinds[index]], ...one }));
}

/** The pieces of memory that a module begins with: `head`, `bytes`, and its `references` in the order of their places. */
function readSegments(section, references) {
  const reader = new Reader(section);
  const segments = reader.list(() => {
    const start = reader.at;
    if (reader.number() !== 0 || reader.byte() !== 0x41) throw new Error("a segment of another kind");
    reader.signed();
    if (reader.byte() !== 0x0b) throw new Error("a segment of another kind");
    const head = section.subarray(start, reader.at);
    const length = reader.number();
    return { head, at: reader.at, bytes: Uint8Array.from(reader.take(length)), references: [] };
  });
  for (const [place, symbol] of references) {
    const segment = segments.findLast(({ at }) => at <= place);
    segment.references.push([place - segment.at, symbol]);
  }
  for (const { references: list } of segments) list.sort(([one], [next]) => one - next);
  return segments;
}

/** The functions and symbols that can be reached from the exports. */
function findLive(sections, functions, segments, symbols) {
  const [liveFunctions, liveSymbols] = [new Set(), new Set()];
  const pending = [];
  const reachFunction = (index) => {
    if (liveFunctions.has(index)) return;
    liveFunctions.add(index);
    pending.push(() => {
      for (const { callee, symbol } of instructionsOf(functions[index].code)) {
        if (callee !== undefined) reachFunction(callee);
        if (symbol !== undefined) reachSymbol(symbol);
      }
    });
  };
  const reachSymbol = (number) => {
    if (liveSymbols.has(number) || symbols[number] === null) return;
    liveSymbols.add(number);
    const { callee, segment, start, end } = symbols[number];
    if (callee !== undefined) return reachFunction(callee);
    pending.push(() => {
      for (const [place, symbol] of segments[segment]?.references ?? []) {
        if (place >= start && place < end) reachSymbol(symbol);
      }
    });
  };
  const exports = new Reader(sections.get(EXPORT));
  exports.list(() => {
    exports.text();
    const [kind, index] = [exports.byte(), exports.number()];
    if (kind === 0) reachFunction(index);
  });
  while (pending.length > 0) pending.pop()();
  return { functions: liveFunctions, symbols: liveSymbols };
}

/** Fills data that nothing refers to with zeros, which take no space when they are compressed. */
function clearDead(segments, symbols, live) {
  const kept = segments.map(({ bytes }) => new Uint8Array(bytes.length).fill(1));
  const mark = (number, value) => {
    const { segment, start, end } = symbols[number] ?? {};
    if (segment !== undefined) kept[segment]?.fill(value, start, end);
  };
  symbols.forEach((_, number) => mark(number, 0));
  live.symbols.forEach((number) => mark(number, 1));
  segments.forEach(({ bytes }, index) => {
    kept[index].forEach((isKept, at) => {
      if (!isKept) bytes[at] = 0;
    });
  });
}

/** Numbers the locals that are left, the most used ones first, those of a type beside each other; their types. */
function renumberLocals({ parameters, locals, code }) {
  const types = locals.flatMap(([count, type]) => Array(count).fill(type));
  const uses = new Map();
  for (const { local } of instructionsOf(code)) {
    if (local >= parameters) uses.set(local, (uses.get(local) ?? 0) + 1);
  }
  const used = [...uses.keys()].sort((one, next) => uses.get(next) - uses.get(one));
  const kinds = [...new Set(types)].sort((one, next) => next - one);
  const left = kinds.map((kind) => used.filter((local) => types[local - parameters] === kind));
  const numbers = new Map(left.flat().map((local, at) => [local, parameters + at]));
  for (const item of instructionsOf(code)) item.local = numbers.get(item.local) ?? item.local;
  return kinds.map((kind, at) => [left[at].length, kind]).filter(([count]) => count > 0);
}

function writeSections(sections, functions, segments, order, placeOf) {
  const chosen = order.map((index) => functions[index]);
  const contents = new Map(sections);
  contents.set(FUNCTION, [...written(order.length), ...chosen.flatMap(({ type }) => written(type))]);
  contents.set(EXPORT, writeExports(new Reader(sections.get(EXPORT)), placeOf));
  if (sections.has(ELEMENT)) contents.set(ELEMENT, writeElements(new Reader(sections.get(ELEMENT)), placeOf));
  const bodies = chosen.map(({ pieces, callees }) => {
    const parts = pieces.flatMap((piece, at) => (at < callees.length ? [piece, written(placeOf(callees[at]))] : [piece]));
    return sized(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
  });
  contents.set(CODE, Buffer.concat([Uint8Array.from(written(bodies.length)), ...bodies]));
  const data = segments.map(({ head, bytes }) => Buffer.concat([head, sized(bytes)]));
  contents.set(DATA, Buffer.concat([Uint8Array.from(written(data.length)), ...data]));
  const parts = [...contents].map(([id, content]) => Buffer.concat([Uint8Array.of(id), sized(content)]));
  return Buffer.concat([Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0), ...parts]);
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

/** The table of functions that are called by their place in it. One that is gone is never called. */
function writeElements(reader, placeOf) {
  const segments = reader.list(() => {
    const start = reader.at;
    const [kind, constant] = [reader.number(), reader.byte()];
    reader.number();
    if (kind !== 0 || constant !== 0x41 || reader.byte() !== 0x0b) throw new Error("a table of another kind");
    const head = reader.bytes.subarray(start, reader.at);
    const indexes = reader.list(() => placeOf(reader.number()) ?? 0);
    return [...head, ...written(indexes.length), ...indexes.flatMap(written)];
  });
  return [...written(segments.length), ...segments.flat()];
}
