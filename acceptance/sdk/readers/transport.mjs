// A `fetch` that returns the bytes of one file for every request.

/** Responds with the body, with status 500 unless `succeeds` accepts it. */
export function fakeFetch(body, kind, chunkSize, succeeds) {
  const isError = kind === "response" && !succeeds(JSON.parse(body.toString("utf8")));
  const type = kind === "response" ? "application/json" : "text/event-stream";
  return async () =>
    new Response(inChunks(body, chunkSize), { status: isError ? 500 : 200, headers: { "content-type": type } });
}

/** A body that arrives in chunks of this size; 0 is all at once. */
function inChunks(body, chunkSize) {
  const size = chunkSize || Math.max(body.length, 1);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + size)));
      at += size;
    },
  });
}
