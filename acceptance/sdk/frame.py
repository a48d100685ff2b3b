"""Encodes readable event lists as Bedrock streams.

    python3 frame.py EVENTS.jsonl STREAM.bin

A line is `{"event": NAME, "payload": {...}}`, `{"exception": NAME, "payload": {...}}`, or, as the last one,
`{"cut": N}`: the stream ends N bytes earlier. Frames use the AWS event stream encoding: a prelude with both
lengths and its checksum, the headers, the payload, and a checksum of everything.
"""

import json
import struct
import sys
import zlib

STRING = 7


def main(source, target):
    stream = b""
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            stream = stream[: -entry["cut"]] if "cut" in entry else stream + frame(entry)
    with open(target, "wb") as file:
        file.write(stream)


def frame(entry):
    kind = "event" if "event" in entry else "exception"
    headers = header(f":{kind}-type", entry[kind])
    headers += header(":content-type", "application/json") + header(":message-type", kind)
    payload = json.dumps(entry["payload"], ensure_ascii=False, separators=(",", ":")).encode()
    # Two lengths and a checksum before, a checksum after: sixteen bytes.
    prelude = struct.pack("!II", len(headers) + len(payload) + 16, len(headers))
    message = prelude + checksum(prelude) + headers + payload
    return message + checksum(message)


def header(name, value):
    name, value = name.encode(), value.encode()
    return bytes([len(name)]) + name + bytes([STRING]) + struct.pack("!H", len(value)) + value


def checksum(data):
    return struct.pack("!I", zlib.crc32(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
