// Calls into foxwedge.wasm. One engine is one instance of the module.

const FAILED = 0;
const WITH_DOCUMENT = 2;
/** The handle of a stream that could not be opened, or has ended. */
export const NO_STREAM = 0xffffffff;

export const encoder = new TextEncoder();
export const decoder = new TextDecoder();

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

  /** Runs an operation; `{ report, document }`, where `document` is `null` if nothing changed. */
  call(operation, document, options) {
    const name = encoder.encode(operation);
    const settings = encoder.encode(JSON.stringify(options ?? {}));
    return this.guard(() => {
      this.write([name, settings, document]);
      return this.reply(this.wasm.call(name.length, settings.length));
    });
  }

  openStream(options) {
    return this.guard(() => {
      this.write([encoder.encode(JSON.stringify(options))]);
      const handle = this.wasm.stream_open() >>> 0;
      if (handle === NO_STREAM) this.reply(FAILED);
      return handle;
    });
  }

  pushStream(handle, bytes) {
    return this.guard(() => {
      this.write([bytes]);
      return this.reply(this.wasm.stream_push(handle)).document;
    });
  }

  closeStream(handle) {
    this.wasm.stream_close(handle);
  }

  finishStream(handle) {
    return this.guard(() => this.reply(this.wasm.stream_finish(handle)));
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

  write(pieces) {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const place = this.wasm.input(length);
    let at = place;
    for (const piece of pieces) {
      new Uint8Array(this.wasm.memory.buffer, at, piece.length).set(piece);
      at += piece.length;
    }
  }

  reply(status) {
    const { report_pointer: place, report_length: length } = this.wasm;
    const report = JSON.parse(decoder.decode(this.bytes(place(), length())));
    if (status === FAILED) throw new FoxwedgeError(report.error);
    const document = status === WITH_DOCUMENT;
    const { document_pointer: start, document_length: size } = this.wasm;
    return { report, document: document ? this.bytes(start(), size()).slice() : null };
  }

  bytes(place, length) {
    return new Uint8Array(this.wasm.memory.buffer, place, length);
  }
}
