// The context of every client: the gateway's address, the prompts, and two tools.

const QUESTION = 'call weather with {"city":"Ulm"} and call clock with {"zone":"CET"}';
export const NEXT = "good night";
export const PLAIN = "a word with you";
const THINK = "think first, then ";

// The prefix of the gateway's own response headers.
const HEADER_PREFIX = "x-foxwedge-";

const plainFetch = globalThis.fetch;

export class ClientContext {
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

  /** Runs a tool call. The arguments are an object, or its JSON text. */
  run(name, args) {
    const parsed = typeof args === "string" ? JSON.parse(args) : args;
    return name === "weather" ? this.weather(parsed) : this.clock(parsed);
  }

  /** The `fetch` of every client. Records the status and headers of responses. */
  fetch = async (...request) => {
    const response = await plainFetch(...request);
    const headers = [...response.headers].filter(([name]) => name.startsWith(HEADER_PREFIX));
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

/** The tools, with their descriptions and parameters. */
export const TOOLS = [
  { name: "weather", description: "Tells the weather.", parameters: schema("city") },
  { name: "clock", description: "Tells the time.", parameters: schema("zone") },
];
