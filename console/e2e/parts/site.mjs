/** A small server that says what a test wants it to say, and the built page before it. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};

/**
 * Starts it. `routes` is a list of `[method, pattern, handler]`; a handler gets the match, the
 * address, the body and the reply, and returns what is to be said as JSON, or answers by itself.
 */
export async function startSite(routes) {
  const asked = [];
  const server = createServer(async (request, reply) => {
    const url = new URL(request.url, "http://here");
    const path = decodeURIComponent(url.pathname);
    asked.push(`${request.method} ${path}`);
    try {
      if (path === "/" || path === "/ui" || path.startsWith("/ui/")) return await file(path, reply);
      for (const [method, pattern, handle] of routes) {
        const match = pattern.exec(path);
        if (method !== request.method || match === null) continue;
        const body = await whole(request);
        const said = await handle({ match, url, body, request, reply });
        if (said !== undefined) json(reply, 200, said);
        return;
      }
      json(reply, 404, { error: { message: "not found", code: "not_found" } });
    } catch (error) {
      json(reply, 500, { error: { message: String(error), code: "broken" } });
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    asked,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(done);
      }),
  };
}

export function json(reply, status, value) {
  if (reply.headersSent) return;
  reply.writeHead(status, { "content-type": "application/json" });
  reply.end(JSON.stringify(value));
}

/** A stream of events: lines of JSON, each with an id. */
export function sse(reply) {
  reply.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  reply.flushHeaders();
  return (id, line, event) => {
    reply.write(`${event === undefined ? "" : `event: ${event}\n`}id: ${id}\ndata: ${line}\n\n`);
  };
}

async function file(path, reply) {
  const name = path === "/" || path === "/ui" ? "index.html" : path.slice("/ui/".length);
  try {
    const bytes = await readFile(DIST + name);
    const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
    reply.writeHead(200, { "content-type": type, "content-security-policy": POLICY });
    reply.end(bytes);
  } catch {
    json(reply, 404, { error: { message: "no such file", code: "not_found" } });
  }
}

async function whole(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text === "" ? undefined : JSON.parse(text);
}
