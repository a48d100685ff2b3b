// What every client is given: where the gateway is, what to ask, and two tools.

const QUESTION = 'call weather with {"city":"Ulm"} and call clock with {"zone":"CET"}';
export const NEXT = "good night";
export const PLAIN = "a word with you";
const THINK = "think first, then ";

// Behind these names are the headers by which the gateway says what it did.
const OURS = "x-foxwedge-";

export class Seat {
  calls = [];
  replies = [];

  constructor({ task, mark, model, stream, face, base, token }) {
    this.question = `${mark}: ${task === "think" ? THINK : ""}${QUESTION}`;
    Object.assign(this, { model, stream, face, token, origin: base, base: `${base}/v1` });
  }

  weather({ city }) {
    this.calls.push({ name: "weather", arguments: { city } });
    return `sunny in ${city}`;
  }

  clock({ zone }) {
    this.calls.push({ name: "clock", arguments: { zone } });
    return `noon in ${zone}`;
  }

  /** Answers a call; arguments are an object, or its text. */
  run(name, args) {
    const given = typeof args === "string" ? JSON.parse(args) : args;
    return name === "weather" ? this.weather(given) : this.clock(given);
  }

  /** The `fetch` of every client, which remembers what came back. */
  fetch = async (...request) => {
    const response = await fetch(...request);
    const headers = [...response.headers].filter(([name]) => name.startsWith(OURS));
    this.replies.push({ status: response.status, headers: Object.fromEntries(headers) });
    return response;
  };
}

function schema(key) {
  return {
    type: "object",
    properties: { [key]: { type: "string" } },
    required: [key],
    additionalProperties: false,
  };
}

/** Every tool with what it is for and what it takes. */
export const TOOLS = [
  { name: "weather", description: "Tells the weather.", parameters: schema("city") },
  { name: "clock", description: "Tells the time.", parameters: schema("zone") },
];
