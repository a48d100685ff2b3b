// Most of a long history is text that no rule reads. Whether it is valid can be told from a copy with short texts, which is
// written and read in half the time. The engine decides; a text is shortened only so that every rule sees the same in it.

/** Rules know every shorter text as a whole. */
const LONG = 240;
/** What the engine tells texts of agents by: their beginning. */
const BEGINNING = 80;
/** The fields that hold texts, or lists of parts with such fields. */
const TEXTS = ["content", "text", "output", "parts"];
/** The keys under which a request holds its messages. */
export const LISTS = ["messages", "contents", "input"];
/** Stands for what was left out. No text and no id has it. */
const MARK = `~${Math.random().toString(36).slice(2)}~`;
/** What is no white space, whoever is asked. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A copy of a list or a request in which long texts are short; `undefined` if there are none. */
export function withShortTexts(input) {
  if (Array.isArray(input)) return withShortItems(input, 0);
  const key = LISTS.find((name) => Array.isArray(input[name]));
  const list = key === undefined ? undefined : withShortItems(input[key], 0);
  return list && { ...input, [key]: list };
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
  // What it writes is not what it has.
  if (typeof item.toJSON === "function") return undefined;
  let copy;
  for (const name of TEXTS) {
    const value = item[name];
    let short;
    if (typeof value === "string") short = value.length > LONG ? shortened(value) : undefined;
    else if (depth < 2 && Array.isArray(value) && typeof value.toJSON !== "function") short = withShortItems(value, depth + 1);
    if (short !== undefined) (copy ??= { ...item })[name] = short;
  }
  return copy;
}

/** A text that begins and ends like this one; `undefined` if there is more to see in it. */
function shortened(text) {
  const beginning = text.slice(0, BEGINNING);
  // Half a character is a finding, and so is white space alone.
  if (!VISIBLE.test(beginning) || !isWellFormed(text)) return undefined;
  const end = text.slice(-1);
  return (isWellFormed(beginning) ? beginning : beginning.slice(0, -1)) + MARK + (isWellFormed(end) ? end : ".");
}

function isWellFormed(text) {
  return text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);
}
