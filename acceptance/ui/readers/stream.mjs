// Server-sent events as bytes and as data.

/** The bytes of a text, `piece` at a time; 0 is all at once. */
export function bytes(text, piece) {
  const all = new TextEncoder().encode(text);
  const size = piece > 0 ? piece : Math.max(all.length, 1);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < all.length) controller.enqueue(all.subarray(at, (at += size)));
      else controller.close();
    },
  });
}

/** The `data:` of every event. Ids must increase. */
export function data(text) {
  let last = [-1, 0];
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => {
      const parts = /^id: (\d+)\.(\d+)\ndata: ([^\n]*)$/.exec(event);
      if (parts === null) throw new Error(`no event with an id: ${event}`);
      const id = [Number(parts[1]), Number(parts[2])];
      if (id[0] < last[0] || (id[0] === last[0] && id[1] !== last[1] + 1) || (id[0] > last[0] && id[1] !== 1)) {
        throw new Error(`the id ${id.join(".")} comes after ${last.join(".")}`);
      }
      last = id;
      return parts[3];
    });
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}
