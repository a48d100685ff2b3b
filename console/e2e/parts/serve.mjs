/** A real `foxwedge serve`, with the scripted model, in a home of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TOKEN = "a-token-of-the-tests-0123456789abcdef";

export class Gateway {
  #child;

  /** Makes its home and starts it. `sessions` are files of Claude Code: name and text; `config` is its file. */
  static async start({ sessions = {}, config } = {}) {
    const gateway = new Gateway();
    gateway.home = mkdtempSync(join(tmpdir(), "foxwedge-console-"));
    gateway.port = await freePort();
    const folder = join(gateway.home, ".claude", "projects", "-srv-parser");
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(sessions)) writeFileSync(join(folder, name), text);
    gateway.folder = folder;
    if (config !== undefined) {
      const settings = join(gateway.home, ".config", "foxwedge");
      mkdirSync(settings, { recursive: true });
      writeFileSync(join(settings, "foxwedge.toml"), config);
    }
    writeFileSync(join(gateway.home, "token"), TOKEN, { mode: 0o600 });
    await gateway.run();
    return gateway;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** The address with the token in it, as it is printed for people. */
  page(hash = "/sessions") {
    return `${this.url}#${hash}${hash.includes("?") ? "&" : "?"}token=${TOKEN}`;
  }

  async run() {
    const binary = process.env.FOXWEDGE_BINARY;
    if (binary === undefined) throw new Error("FOXWEDGE_BINARY names no program");
    const { PATH } = process.env;
    this.#child = spawn(
      binary,
      [
        "serve",
        "--listen",
        `127.0.0.1:${this.port}`,
        "--token-file",
        join(this.home, "token"),
        "--store-content",
        "true",
      ],
      { env: { PATH, HOME: this.home }, stdio: ["ignore", "pipe", "pipe"] },
    );
    let said = "";
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on("data", (bytes) => (said = (said + bytes).slice(-10_000)));
    }
    for (let turn = 0; turn < 600; turn += 1) {
      if (this.#child.exitCode !== null) throw new Error(`it does not start: ${said}`);
      const is = await fetch(`${this.url}liveness`).catch(() => undefined);
      if (is?.ok) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`it is not ready: ${said}`);
  }

  /** Ends it as a crash does. */
  async kill() {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  async close() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }

  async ask(path, body) {
    const reply = await fetch(`${this.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return { reply, value: await reply.json() };
  }

  /** A chat with two tools. Returns what the model said and the run it belongs to. */
  async chat(messages) {
    const tool = (name) => ({
      type: "function",
      function: {
        name,
        parameters: {
          type: "object",
          properties: { what: { type: "string" } },
          required: ["what"],
        },
      },
    });
    const { reply, value } = await this.ask("v1/chat/completions", {
      model: "scripted",
      messages,
      tools: [tool("look"), tool("list")],
    });
    return { run: reply.headers.get("x-foxwedge-run"), message: value.choices[0].message };
  }

  /** A run that waits for the answers to two calls. */
  async waiting(words = "") {
    const prompt = { role: "user", content: `call look and list ${words}`.trim() };
    const { run, message } = await this.chat([prompt]);
    const answer = ({ id }, content) => ({ role: "tool", tool_call_id: id, content });
    const answered = (content) => [
      prompt,
      message,
      ...message.tool_calls.map((call) => answer(call, content)),
    ];
    return {
      run,
      calls: message.tool_calls.map(({ id }) => id),
      finish: (content = "3 files") => this.chat(answered(content)),
    };
  }
}

/** The folder of the recorded sessions. */
export function fixtures() {
  return process.env.FOXWEDGE_FIXTURES ?? new URL("../../../fixtures/", import.meta.url).pathname;
}

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
