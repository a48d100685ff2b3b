// What an SDK understood, in one form for all of them; the same as in normal.py.

/** Two places of one stream tell different things. */
export class Disagreement extends Error {
  name = "Disagreement";
}

/** The provider failed in the middle, and the SDK hands that on as an event. */
export class Failed extends Error {
  name = "Failed";
}

export function reading({ text, reasoning, calls, stop, usage, id, model }) {
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

/** Arguments that are a text: what they say, or the text if they are no JSON. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** All that a stream says about one thing. */
export function agree(what, ...values) {
  const told = values.map((value) => JSON.stringify(value));
  if (told.some((value) => value !== told[0])) throw new Disagreement(`${what}: ${told.join(" / ")}`);
  return values[0];
}
