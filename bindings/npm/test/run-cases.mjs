// node test/run-cases.mjs TABLE FOLLOWED            in this runtime: Node, Deno or Bun
// node test/run-cases.mjs TABLE FOLLOWED CHROMIUM   in a browser, headless

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Engine, Engines } from "../src/engine.js";
import { functionsOf } from "../src/functions.js";
import { compareCases, compareFollowed } from "./cases.js";

const [table, followed, browser] = process.argv.slice(2);
const module = (name) => () => new WebAssembly.Module(readFileSync(new URL(`../${name}`, import.meta.url)));
// Each of them first, with everything behind it for what it leaves out.
const SMALL = ["foxwedge-check.wasm", "foxwedge.wasm", "foxwedge-node.wasm"];
/** What a rule may see in a text that is long. */
const LONG_TEXTS = [
  (text) => text + " and so on".repeat(30),
  (text) => " ".repeat(300) + text,
  (text) => text + "\u0085\u2003 \n".repeat(80),
  () => " \t\n".repeat(100),
  (text) => `${text}${"\u{1f600}".repeat(200)}`,
  (text) => `${text}${"\u{1f600}".repeat(39)}x${"\u{1f600}".repeat(200)}`,
  (text) => `${text}${"word ".repeat(60)}\ud83d`,
  (text) => `${text}${"word ".repeat(60)}\ud83d${"word ".repeat(60)}.`,
  (text) => `\udc00${text}${"word ".repeat(60)}`,
  (text) => `[foxwedge] Interrupted: ${text}${"word ".repeat(60)}`,
  (text) => `[Request interrupted by user${text}${"word ".repeat(200)}`,
  (text) => `Tool call ${text}${"word ".repeat(60)}was cancelled - another message came in before it could be completed.`,
  (text) => `"exit_code": 1 ${text} \\${"\"type\" ".repeat(60)}`,
  (text) => `${text}${"中文".repeat(200)}\u3000`,
];
const follower = () => new Engine(module("foxwedge-follow.wasm")());
const [cases, steps] = browser
  ? await inBrowser()
  : [inThisRuntime(readFileSync(table, "utf8")), compareFollowed(follower(), readFileSync(followed, "utf8"))];
const differences = [...cases.differences, ...steps.differences];
differences.forEach((difference) => console.error(difference));
console.log(`${cases.compared} cases and ${steps.compared} steps of agents compared, ${differences.length} differences`);
process.exit(cases.compared > 0 && steps.compared > 0 && differences.length === 0 ? 0 : 1);

function inThisRuntime(lines) {
  const all = module("foxwedge-all.wasm");
  const found = SMALL.map((name) => compareCases(new Engines([module(name), all]), lines));
  found.push(compareObjects(lines));
  const compared = found.reduce((sum, one) => sum + one.compared, 0);
  return { compared, differences: found.flatMap((one, at) => one.differences.map((text) => `${SMALL[at] ?? "objects"}, ${text}`)) };
}

/** Documents as objects: reports and repairs are the same as those of their texts, and what stays is the same object. */
function compareObjects(lines) {
  const differences = [];
  let compared = 0;
  const engines = new Engines([module("foxwedge-node.wasm"), module("foxwedge-all.wasm")]);
  for (const { operation, options, document, error } of lines.split("\n").filter(Boolean).map((line) => JSON.parse(line))) {
    const settings = JSON.parse(options);
    if (error !== null || operation !== "fix" || settings.agent !== undefined) continue;
    const input = JSON.parse(document.replace(/^\ufeff+/, ""));
    for (const variant of [input, withLongTexts(input, compared), withLongTexts(input, compared + 1)]) {
      compared += 1;
      // New ones each time, since they remember whether the last history was valid.
      const difference = differsAsObject(() => functionsOf(engines), variant, settings);
      if (difference && differences.length < 5) differences.push(`${difference}: ${options} ${JSON.stringify(variant)}`);
    }
  }
  return { compared, differences };
}

function differsAsObject(functions, input, settings) {
  const text = JSON.stringify(input);
  const [checked, whole] = [input, text].map((document) => functions().check(document, settings));
  if (JSON.stringify(checked) !== JSON.stringify(whole)) return "check";
  const [fixed, expected] = [input, text].map((document) => functions().fix(document, settings));
  const report = ({ document, messages, ...rest }) => JSON.stringify(rest);
  if (report(fixed) !== report(expected)) return "the report";
  const isSame = fixed.changed ? sorted(fixed.document) === sorted(JSON.parse(expected.document)) : fixed.document === input;
  return isSame ? null : `the document ${sorted(fixed.document)}`;
}

/** A document in which some texts are long. */
function withLongTexts(value, seed) {
  let state = seed + 1;
  const next = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const visit = (found, key) => {
    if (Array.isArray(found)) return found.map((item) => visit(item, ""));
    if (typeof found === "object" && found !== null) {
      return Object.fromEntries(Object.entries(found).map(([name, item]) => [name, visit(item, name)]));
    }
    const isText = typeof found === "string" && ["content", "text", "output"].includes(key);
    return isText && next(3) > 0 ? LONG_TEXTS[next(LONG_TEXTS.length)](found) : found;
  };
  return visit(value, "");
}

/** JSON in which the order of the first fields does not matter. */
function sorted(document) {
  return Array.isArray(document) ? JSON.stringify(document) : JSON.stringify(Object.entries(document).sort());
}

/** Serves the package and a page that compares and posts what it found. */
async function inBrowser() {
  const page = `<script type="module">
    import { Engine, Engines } from "/src/engine.js";
    import { compareCases, compareFollowed } from "/test/cases.js";
    const compiled = async (name) => WebAssembly.compile(await (await fetch(name)).arrayBuffer());
    const table = async (name) => (await fetch(name)).text();
    const [small, all] = [await compiled("/foxwedge.wasm"), await compiled("/foxwedge-all.wasm")];
    const follower = new Engine(await compiled("/foxwedge-follow.wasm"));
    const found = [
      compareCases(new Engines([() => small, () => all]), await table("/table")),
      compareFollowed(follower, await table("/followed")),
    ];
    await fetch("/found", { method: "POST", body: JSON.stringify(found) });
  </script>`;
  const types = { js: "text/javascript", wasm: "application/wasm" };
  let report;
  const reported = new Promise((done) => (report = done));
  const server = createServer(({ url }, response) => {
    const file = url.replace(/[^a-z/.-]/g, "").replace(/\.\.+/g, "");
    if (url === "/") return response.setHeader("content-type", "text/html").end(page);
    if (url === "/table") return response.end(readFileSync(table));
    if (url === "/followed") return response.end(readFileSync(followed));
    if (url === "/found") return receive(response.req, report, response);
    if (!/^\/((src|test)\/\w+\.js|foxwedge(-all|-follow)?\.wasm)$/.test(file)) return response.writeHead(404).end();
    response.setHeader("content-type", types[file.split(".").pop()]).end(readFileSync(new URL(`..${file}`, import.meta.url)));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const profile = mkdtempSync(join(tmpdir(), "foxwedge-browser-"));
  const options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${profile}`];
  const chromium = spawn(browser, [...options, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
  const ended = new Promise((_, fail) => {
    chromium.on("error", fail);
    chromium.on("exit", (code) => fail(new Error(`the browser ended with ${code} before it was done`)));
  });
  try {
    return await Promise.race([reported, ended]);
  } finally {
    chromium.removeAllListeners("exit");
    chromium.kill();
    server.closeAllConnections();
    server.close();
    await new Promise((done) => (chromium.exitCode === null ? chromium.on("exit", done) : done()));
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function receive(request, report, response) {
  let text = "";
  for await (const piece of request) text += piece;
  response.end();
  report(JSON.parse(text));
}
