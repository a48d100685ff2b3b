// Numbers and bytes of a WebAssembly module, read and written.

/** Reads numbers and bytes from the front. */
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  get isDone() {
    return this.at >= this.bytes.length;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  /** A number of at most 33 bits that may be negative. */
  signed() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return byte & 64 ? value - scale * 128 : value;
    }
  }

  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text() {
    return Buffer.from(this.take(this.number())).toString();
  }

  list(read) {
    return Array.from({ length: this.number() }, () => read(this));
  }
}

/** The bytes of a number. */
export function written(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value = Math.floor(value / 128);
  } while (value > 0);
  return bytes;
}

/** The bytes of a number that may be negative. */
export function writtenSigned(value) {
  const bytes = [];
  for (;;) {
    const low = ((value % 128) + 128) % 128;
    value = (value - low) / 128;
    const isLast = (value === 0 && low < 64) || (value === -1 && low >= 64);
    bytes.push(isLast ? low : low | 128);
    if (isLast) return bytes;
  }
}

/** Bytes with their length in front. */
export function sized(bytes) {
  return Buffer.concat([Uint8Array.from(written(bytes.length)), Uint8Array.from(bytes)]);
}
