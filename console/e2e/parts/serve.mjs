/** A real `foxwedge serve` with the scripted model, in its own home folder. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TOKEN = "a-token-of-the-tests-0123456789abcdef";

export class Gateway {
  #child;

  /** Creates the home folder and starts it. `sessions`: Claude Code files by name. */
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

  get token() {
    return TOKEN;
  }

  /** The address with the token, as `foxwedge serve` prints it. */
  page(hash = "/sessions") {
    return `${this.url}#${hash}${hash.includes("?") ? "&" : "?"}token=${TOKEN}`;
  }

  async run() {
    const binary = process.env.FOXWEDGE_BINARY;
    if (binary === undefined) throw new Error("FOXWEDGE_BINARY is not set");
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
    let output = "";
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on("data", (bytes) => (output = (output + bytes).slice(-10_000)));
    }
    for (let turn = 0; turn < 600; turn += 1) {
      if (this.#child.exitCode !== null) throw new Error(`the gateway exited: ${output}`);
      const response = await fetch(`${this.url}liveness`).catch(() => undefined);
      if (response?.ok) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the gateway is not ready: ${output}`);
  }

  /** Kills it, like a crash. */
  async kill() {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  async close() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }

  async request(path, body) {
    const reply = await fetch(`${this.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return { reply, value: await reply.json() };
  }

  /** Sends a chat with two tools. Returns the message of the model and its run. */
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
    const { reply, value } = await this.request("v1/chat/completions", {
      model: "scripted",
      messages,
      tools: [tool("look"), tool("list")],
    });
    return { run: reply.headers.get("x-foxwedge-run"), message: value.choices[0].message };
  }

  /** A run that waits for the results of two tool calls. */
  async waiting(words = "") {
    const prompt = { role: "user", content: `call look and list ${words}`.trim() };
    const { run, message } = await this.chat([prompt]);
    const result = ({ id }, content) => ({ role: "tool", tool_call_id: id, content });
    const withResults = (content) => [
      prompt,
      message,
      ...message.tool_calls.map((call) => result(call, content)),
    ];
    return {
      run,
      calls: message.tool_calls.map(({ id }) => id),
      finish: (content = "3 files") => this.chat(withResults(content)),
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
