// Agents that cannot be called as a library: they resume a session, and what they send then is their answer. The only
// server they reach is the one below.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

/** Added to every session. It belongs to the adapter and is taken out again. */
export const PROMPT = 'This prompt ends the session.';

/** A home for one agent; it is gone when the adapter ends. */
export function makeHome(name) {
  const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`)));
  process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Answers every request with a refusal, and keeps the last body that holds the prompt. */
export async function startServer() {
  const state = { sent: undefined };
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.method === 'POST' && body.includes(PROMPT)) state.sent = JSON.parse(body);
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end('{"type":"error","error":{"type":"invalid_request_error","message":"enough"}}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${server.address().port}`;
  return state;
}

/** Runs an agent to its end, and returns what it sent. */
export async function run(state, home, program, args, more) {
  const { url } = state;
  const env = { PATH: process.env.PATH, HOME: home, HTTPS_PROXY: url, HTTP_PROXY: url, NO_PROXY: '127.0.0.1', ...more };
  state.sent = undefined;
  const child = spawn(program, args, { env, cwd: home, stdio: 'ignore' });
  await new Promise((resolve) => child.on('exit', resolve));
  if (!state.sent) throw new Error('nothing was sent');
  return state.sent;
}
