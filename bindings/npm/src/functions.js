// The functions of the package, for engines that are loaded when a function needs them.

import { FoxwedgeError, NO_STREAM, decoder } from "./engine.js";

/** The keys under which a request holds its messages. */
const LISTS = ["messages", "contents", "input"];

export function functionsOf(engines) {
  const run = (operation, input, options) => engines.call(operation, documentOf(input), options);

  function check(input, options) {
    return run("check", input, options).report;
  }

  function fix(input, options) {
    const { report, document } = run("fix", input, options);
    return { ...report, ...changed(input, document) };
  }

  function compact(input, options) {
    const { report, document } = run("compact", input, options);
    return { ...report, ...changed(input, document) };
  }

  function convert(input, options) {
    const { report, document } = run("convert", input, options);
    return { ...report, ...written(input, document) };
  }

  function convertResponse(input, options) {
    const { report, document } = engines.all().call("convert-response", documentOf(input), options);
    return { ...report, ...written(input, document) };
  }

  function explain(text) {
    return engines.all().call("explain", String(text)).report;
  }

  function rules() {
    return engines.all().call("rules", "").report.rules;
  }

  const sessions = {
    /** What a session file holds: its agent, its health, and its conversation as messages. */
    read(input, options) {
      const { report, document } = engines.all().call("history", documentOf(input), options);
      return { ...report, history: JSON.parse(decoder.decode(document)) };
    },
    check,
    fix,
  };

  /** Converts a stream: push what arrives, send on what it returns, and finish. */
  class StreamConverter {
    #handle;
    #engine;

    constructor(options) {
      this.#engine = engines.all();
      this.#handle = this.#engine.openStream(options);
    }

    push(piece) {
      try {
        return this.#engine.pushStream(this.#handle, documentOf(piece));
      } catch (error) {
        this.close();
        throw error;
      }
    }

    finish() {
      const { report, document } = this.#engine.finishStream(this.#end());
      return { ...report, rest: document };
    }

    /** Forgets a stream that is not to be finished. */
    close() {
      this.#engine.closeStream(this.#end());
    }

    /** The handle, which may soon be another stream's. */
    #end() {
      const handle = this.#handle;
      this.#handle = NO_STREAM;
      return handle;
    }

    /** The same as a web stream. */
    static transform(options) {
      const converter = new StreamConverter(options);
      return new TransformStream({
        transform(piece, controller) {
          const bytes = converter.push(piece);
          if (bytes.length > 0) controller.enqueue(bytes);
        },
        flush(controller) {
          const { rest } = converter.finish();
          if (rest.length > 0) controller.enqueue(rest);
        },
      });
    }
  }

  return { check, fix, compact, convert, convertResponse, explain, rules, sessions, StreamConverter, FoxwedgeError };
}

/** A text or bytes. */
export function documentOf(input) {
  if (typeof input === "string" || input instanceof Uint8Array) return input;
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  let text;
  try {
    text = JSON.stringify(input);
  } catch (error) {
    throw new FoxwedgeError({ kind: "unreadable", message: `the input cannot be written as JSON: ${error.message}` });
  }
  if (text === undefined) throw new FoxwedgeError({ kind: "unreadable", message: "the input is no document" });
  return text;
}

/** A result in the form of the input. What did not change is the same object. */
function changed(input, document) {
  if (document === null) return withList(input, input);
  if (typeof input === "string") return { document: decoder.decode(document) };
  if (isBytes(input)) return { document };
  const result = JSON.parse(decoder.decode(document));
  if (Array.isArray(result) && Array.isArray(input)) return withList(input, keepIdentity(input, result));
  const key = LISTS.find((name) => Array.isArray(result?.[name]) && Array.isArray(input?.[name]));
  if (key !== undefined) result[key] = keepIdentity(input[key], result[key]);
  return withList(input, result);
}

/** A new document in the form of the input. */
function written(input, document) {
  if (typeof input === "string") return { document: decoder.decode(document) };
  if (isBytes(input)) return { document };
  return withList(input, JSON.parse(decoder.decode(document)));
}

function isBytes(input) {
  return input instanceof Uint8Array || input instanceof ArrayBuffer;
}

function withList(input, document) {
  if (typeof input === "string" || isBytes(input)) return { document };
  if (Array.isArray(document)) return { document, messages: document };
  const key = LISTS.find((name) => Array.isArray(document?.[name]));
  return key === undefined ? { document } : { document, messages: document[key] };
}

/** Puts the objects of `before` in the place of equal ones in `after`, in their order. */
function keepIdentity(before, after) {
  const known = new Map();
  before.forEach((message, index) => {
    const text = JSON.stringify(message);
    if (!known.has(text)) known.set(text, []);
    known.get(text).push(index);
  });
  let last = -1;
  return after.map((message) => {
    const places = known.get(JSON.stringify(message));
    const place = places?.find((index) => index > last) ?? places?.[0];
    if (place === undefined) return message;
    last = place;
    return before[place];
  });
}
