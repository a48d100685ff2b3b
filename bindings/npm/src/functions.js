// The functions of the package, for engines that are loaded when a function needs them.

import { FoxwedgeError, NO_STREAM, decoder } from "./engine.js";
import { LISTS, withShortTexts } from "./shortened.js";

/** After so many calls, a short copy is tried again. */
const LONGEST_PAUSE = 64;

export function functionsOf(engines) {
  const run = (operation, input, options, asChanges) => engines.call(operation, documentOf(input), options, asChanges);

  // Whoever sends one invalid history may send more of them: then the copy is only tried now and then.
  let pause = 0;
  let nextPause = 1;

  /** The report on a request in which nothing is wrong, from a short copy; `undefined` if the whole input has to be read. */
  function validReport(operation, input, options) {
    if (pause > 0) {
      pause -= 1;
      return undefined;
    }
    const short = hasOwnLists(input) ? withShortTexts(input) : undefined;
    if (short === undefined) return undefined;
    const report = reportOrNothing(operation, short, options);
    if (report?.valid && report.total === 0 && report.profile && !report.changed) {
      nextPause = 1;
      return report;
    }
    pause = nextPause;
    nextPause = Math.min(2 * nextPause, LONGEST_PAUSE);
    return undefined;
  }

  function reportOrNothing(operation, input, options) {
    try {
      return run(operation, input, options).report;
    } catch {
      // The whole input says what is wrong, and where.
      return undefined;
    }
  }

  /** Runs an operation whose result is the input with changes. */
  function change(operation, input, options) {
    const { report, document, changes } = run(operation, input, options, hasOwnLists(input));
    return { ...report, ...(changes ? withChanges(input, changes) : changed(input, document)) };
  }

  function check(input, options) {
    return validReport("check", input, options) ?? run("check", input, options).report;
  }

  function fix(input, options) {
    const report = validReport("fix", input, options);
    return report ? { ...report, ...withList(input, input) } : change("fix", input, options);
  }

  function compact(input, options) {
    return change("compact", input, options);
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

/** Whether the messages in the JSON of the input are those in the input, one by one. */
function hasOwnLists(input) {
  if (typeof input !== "object" || input === null || isBytes(input)) return false;
  const writesItself = (value) => typeof value?.toJSON === "function";
  return !writesItself(input) && (Array.isArray(input) || !LISTS.some((name) => writesItself(input[name])));
}

/** The input with changes. What did not change is the same object. */
function withChanges(input, { key, items, fields, removed }) {
  const old = key === null ? input : input[key];
  const list = [];
  for (const item of items) {
    if (!Array.isArray(item)) list.push(item);
    else for (let at = item[0]; at < item[1]; at++) list.push(old[at]);
  }
  if (key === null) return { document: list, messages: list };
  const document = { ...input, ...fields, [key]: list };
  for (const name of removed) delete document[name];
  return { document, messages: list };
}

/** A result in the form of the input, or the input itself if nothing changed. */
function changed(input, document) {
  return document === null ? withList(input, input) : written(input, document);
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
