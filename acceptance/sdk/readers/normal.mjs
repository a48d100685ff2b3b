// The result of an SDK, in one form for all of them; the same as in normal.py.

/** Two parts of a stream contradict each other. */
export class Disagreement extends Error {
  name = "Disagreement";
}

/** The provider failed during the stream, and the SDK reports that as an event. */
export class Failed extends Error {
  name = "Failed";
}

export function summary({ text, reasoning, calls, stop, usage, id, model }) {
  return {
    text: text ?? "",
    reasoning: reasoning ?? "",
    calls,
    stop: stop ?? null,
    usage: usage ?? null,
    id: id ?? null,
    model: model ?? null,
  };
}

export function call(id, name, callArguments) {
  return { id: id ?? null, name, arguments: callArguments };
}

/** Parses arguments; returns the text if it is not JSON. */
export function parseArguments(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the value if all values are equal. */
export function agree(what, ...values) {
  const texts = values.map((value) => JSON.stringify(value));
  if (texts.some((text) => text !== texts[0])) throw new Disagreement(`${what}: ${texts.join(" / ")}`);
  return values[0];
}
