// Calls into a module of the package. One engine is one instance of a module.

const FAILED = 0;
const WITH_DOCUMENT = 2;
const WITH_CHANGES = 3;
/** The handle of a stream that could not be opened, or has ended. */
export const NO_STREAM = 0xffffffff;

export const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** What every failure of the engine is: `kind` for programs, `message` for people. */
export class FoxwedgeError extends Error {
  constructor({ kind, message, at = null }) {
    super(message);
    this.name = "FoxwedgeError";
    this.kind = kind;
    this.at = at;
  }
}

export class Engine {
  constructor(module) {
    this.module = module;
    this.start();
  }

  start() {
    this.wasm = new WebAssembly.Instance(this.module, {}).exports;
  }

  /**
   * Runs an operation; `{ report, document }`, where `document` is `null` if nothing changed. With `asChanges`, a new
   * document comes as `changes` to the list of messages, if it has one.
   */
  call(operation, document, options, asChanges = false) {
    const settings = options === undefined ? "" : JSON.stringify(options);
    return this.guard(() => {
      const name = this.write(operation, 0);
      const some = this.write(settings, name);
      const rest = this.write(document, name + some);
      return this.reply(this.wasm.call(name, some, rest, asChanges));
    });
  }

  openStream(options) {
    return this.open("stream_open", options);
  }

  pushStream(handle, piece) {
    return this.guard(() => this.reply(this.wasm.stream_push(handle, this.write(piece, 0))).document);
  }

  closeStream(handle) {
    this.wasm.stream_close(handle);
  }

  finishStream(handle) {
    return this.guard(() => this.reply(this.wasm.stream_finish(handle)));
  }

  openFollower(options) {
    return this.open("follow_open", options);
  }

  /** Takes a step of a follower; `{ report, document }`. A missing time is none. */
  stepFollower(handle, step, body, now = 0) {
    return this.guard(() => {
      const name = this.write(step, 0);
      return this.reply(this.wasm.follow_step(handle, name, this.write(body, name), now));
    });
  }

  closeFollower(handle) {
    this.wasm.follow_close(handle);
  }

  /** What an export opens with options, by its handle. */
  open(name, options) {
    return this.guard(() => {
      const handle = this.wasm[name](this.write(JSON.stringify(options), 0)) >>> 0;
      if (handle === NO_STREAM) this.reply(FAILED);
      return handle;
    });
  }

  /** A trap leaves an instance in an unknown state, so a new one takes its place. */
  guard(work) {
    try {
      return work();
    } catch (error) {
      if (error instanceof FoxwedgeError) throw error;
      this.start();
      throw new FoxwedgeError({ kind: "internal", message: `the engine stopped: ${error.message}` });
    }
  }

  /** Writes a text or bytes at this place of the input; how many bytes it became. */
  write(piece, at) {
    if (typeof piece !== "string") {
      const place = this.wasm.input(at + piece.length) + at;
      this.bytes(place, piece.length).set(piece);
      return piece.length;
    }
    // Most texts have one byte for each character; the rest of others is written into more space.
    let done = 0;
    let length = 0;
    while (done < piece.length) {
      const space = (piece.length - done) * (done === 0 ? 1 : 3) + 8;
      const place = this.wasm.input(at + length + space) + at + length;
      const { read, written } = encoder.encodeInto(done === 0 ? piece : piece.slice(done), this.bytes(place, space));
      done += read;
      length += written;
    }
    return length;
  }

  reply(status) {
    const { report_pointer: place, report_length: length } = this.wasm;
    const report = JSON.parse(decoder.decode(this.bytes(place(), length())));
    if (status === FAILED) throw new FoxwedgeError(report.error);
    if (status !== WITH_DOCUMENT && status !== WITH_CHANGES) return { report, document: null };
    const written = this.bytes(this.wasm.document_pointer(), this.wasm.document_length());
    if (status === WITH_CHANGES) return { report, document: null, changes: JSON.parse(decoder.decode(written)) };
    return { report, document: written.slice() };
  }

  bytes(place, length) {
    return new Uint8Array(this.wasm.memory.buffer, place >>> 0, length);
  }
}

/** The modules from the smallest to the one with everything. Each is started when it is needed. */
export class Engines {
  /** A loader returns a module, or nothing if it is not loaded; `missing` is the error if no larger one is either. */
  constructor(loaders, missing) {
    this.loaders = loaders;
    this.missing = missing;
    this.started = loaders.map(() => undefined);
    this.smallest = 0;
  }

  /** The engine with everything. */
  all() {
    return this.engine(this.loaders.length - 1)[0];
  }

  /** The first engine that is loaded from this place on, and its place. */
  engine(from) {
    for (let place = from; place < this.loaders.length; place++) {
      const module = this.started[place] === undefined ? this.loaders[place]() : undefined;
      if (module) this.started[place] = new Engine(module);
      if (this.started[place]) return [this.started[place], place];
    }
    throw this.missing(from);
  }

  call(operation, document, options, asChanges) {
    for (;;) {
      const [engine, place] = this.engine(this.smallest);
      try {
        return engine.call(operation, document, options, asChanges);
      } catch (error) {
        if (error.kind !== "left-out") throw error;
        this.smallest = place + 1;
      }
    }
  }
}
