// A `fetch` that answers every request with the bytes of one file.

/** Answers with the body; as a failure, if the body is none that `succeeds`. */
export function answering(body, kind, piece, succeeds) {
  const failed = kind === "response" && !succeeds(JSON.parse(body.toString("utf8")));
  const type = kind === "response" ? "application/json" : "text/event-stream";
  return async () =>
    new Response(inPieces(body, piece), { status: failed ? 500 : 200, headers: { "content-type": type } });
}

/** A body that arrives in pieces of so many bytes; 0 is all at once. */
function inPieces(body, piece) {
  const size = piece || Math.max(body.length, 1);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + size)));
      at += size;
    },
  });
}
