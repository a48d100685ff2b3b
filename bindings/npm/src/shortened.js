// Most of a long history is text that no rule reads. That a history is valid can be told from a copy with short texts, which
// is written and read in half the time. The engine decides; a text is shortened only so that every rule sees the same in it.

/** The keys under which a request holds its messages. */
export const LISTS = ["messages", "contents", "input"];

/** Rules know shorter texts as a whole. */
const LONG = 240;
/** Rules tell the texts of agents by their beginning. A shortened text has at least so many characters, and at most twice as many. */
const BEGINNING = 64;
/** The fields of a part may have parts of their own. */
const DEEPEST = 2;

/** A copy of a list or a request in which long texts are short; `undefined` if there are none. */
export function withShortTexts(input) {
  if (Array.isArray(input)) return withShortItems(input, 0);
  const key = LISTS.find((name) => Array.isArray(input[name]));
  const list = key === undefined ? undefined : withShortItems(input[key], 0);
  if (list === undefined) return undefined;
  const copy = { ...input };
  replace(copy, key, list);
  return copy;
}

function withShortItems(list, depth) {
  let copy;
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    if (typeof item !== "object" || item === null || Array.isArray(item)) continue;
    const short = withShortFields(item, depth);
    if (short !== undefined) (copy ??= list.slice())[at] = short;
  }
  return copy;
}

function withShortFields(item, depth) {
  const { content, text, output, parts, toJSON } = item;
  // What it writes is not what it has.
  if (typeof toJSON === "function") return undefined;
  const shortContent = content === undefined ? undefined : shortValue(content, depth);
  const shortText = text === undefined ? undefined : shortValue(text, depth);
  const shortOutput = output === undefined ? undefined : shortValue(output, depth);
  const shortParts = parts === undefined ? undefined : shortValue(parts, depth);
  if ((shortContent ?? shortText ?? shortOutput ?? shortParts) === undefined) return undefined;
  const copy = { ...item };
  if (shortContent !== undefined) replace(copy, "content", shortContent);
  if (shortText !== undefined) replace(copy, "text", shortText);
  if (shortOutput !== undefined) replace(copy, "output", shortOutput);
  if (shortParts !== undefined) replace(copy, "parts", shortParts);
  return copy;
}

/** Replaces a field that a copy has: what the class of an object adds is not in its JSON. */
function replace(copy, name, value) {
  if (copy[name] !== undefined) copy[name] = value;
}

/** What stands for a value, if that is shorter. */
function shortValue(value, depth) {
  if (typeof value === "string") return value.length > LONG ? shortened(value) : undefined;
  const isList = depth < DEEPEST && Array.isArray(value) && typeof value.toJSON !== "function";
  return isList ? withShortItems(value, depth + 1) : undefined;
}

/** The beginning of a text, as far as it ends like the text; `undefined` if there is more to see in it. */
function shortened(text) {
  const last = text.charCodeAt(text.length - 1);
  const isLike = isVisible(last) ? isVisible : isSpace(last) ? isSpace : undefined;
  // Half a character is a finding, wherever it is.
  if (isLike === undefined || !isWellFormed(text)) return undefined;
  for (let end = BEGINNING; end <= 2 * BEGINNING; end++) {
    if (isLike(text.charCodeAt(end - 1))) return text.slice(0, end);
  }
  return undefined;
}

/** Whether a character is no white space, whatever counts as that, and whole. */
function isVisible(code) {
  return (code > 0x20 && code < 0x7f) || (code > 0x3000 && code < 0xd800);
}

/** Whether a character is white space, whatever counts as that. */
function isSpace(code) {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isWellFormed(text) {
  return text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);
}
