/** A small server with the responses of a test, which also serves the built console. */

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
 * Starts it. `routes` is a list of `[method, pattern, handler]`. A handler gets the match, the URL,
 * the body and the reply. It returns a value to send as JSON, or writes the reply itself.
 */
export async function startSite(routes) {
  const requests = [];
  const server = createServer(async (request, reply) => {
    const url = new URL(request.url, "http://here");
    const path = decodeURIComponent(url.pathname);
    requests.push(`${request.method} ${path}`);
    try {
      if (path === "/" || path === "/ui" || path.startsWith("/ui/")) return await file(path, reply);
      for (const [method, pattern, handle] of routes) {
        const match = pattern.exec(path);
        if (method !== request.method || match === null) continue;
        const body = await readBody(request);
        const value = await handle({ match, url, body, request, reply });
        if (value !== undefined) json(reply, 200, value);
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
    requests,
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

/** Starts an event stream. Returns a function that sends one event. */
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

async function readBody(request) {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text === "" ? undefined : JSON.parse(text);
}
