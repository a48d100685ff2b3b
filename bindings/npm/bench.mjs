// How long the package takes, against what every program does anyway: JSON.parse and JSON.stringify.
//
//     node build.mjs && node bench.mjs             # `--native` also compares with the engine without WebAssembly,
//                                                  # `--browser` measures the module that browsers download
//
// The two are run in turns and measured in processor time, so that a busy machine says the same.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const foxwedge = await import(process.argv.includes("--browser") ? "./src/web.js" : "foxwedge");
await foxwedge.load(readFileSync(new URL("foxwedge.wasm", import.meta.url)));
const { check, compact, convert, fix } = foxwedge;

const encoder = new TextEncoder();

/** A valid list with this many calls, each of which has its result. */
function history(calls, size) {
  const messages = [{ role: "user", content: "Please look through the project." }];
  for (let at = 0; at < calls; at++) {
    const call = { id: `call_${at}`, type: "function", function: { name: "read", arguments: JSON.stringify({ path: `src/${at}.ts` }) } };
    const output = `line ${at}: "value" = ${"the quick brown fox jumps, ".repeat(Math.ceil(size / 28))}\n`;
    messages.push({ role: "assistant", content: "Next file.", tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: call.id, content: output });
  }
  messages.push({ role: "user", content: "Go on." });
  return messages;
}

/** Milliseconds of processor time for one of so many runs. */
function timed(work, runs) {
  const before = process.cpuUsage();
  for (let at = 0; at < runs; at++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / runs;
}

function compare(name, work, other, yardstick, runs = 10) {
  const times = [[], []];
  for (let round = 0; round < 14; round++) {
    times[0].push(timed(work, runs));
    times[1].push(timed(yardstick, runs));
  }
  // The first rounds compile.
  const [ours, theirs] = times.map((list) => list.slice(4).sort((one, next) => one - next)[5]);
  const ratio = (ours / theirs).toFixed(2);
  console.log(`${name.padEnd(34)} ${ours.toFixed(3)} ms = ${ratio} × ${other} (${theirs.toFixed(3)} ms)`);
}

const large = { model: "gpt-5", messages: history(500, 1900) };
const text = JSON.stringify(large);
const bytes = encoder.encode(text);
const list = history(99, 500);
const poisoned = [...list.slice(0, 21), ...list.slice(22)];
console.log(`${(bytes.length / 1e6).toFixed(2)} MB; a list of ${list.length} messages, ${(JSON.stringify(list).length / 1e3).toFixed(0)} KB`);

const roundTrip = () => JSON.stringify(JSON.parse(text));
const written = () => JSON.stringify(list);
compare("fix, valid bytes", () => fix(bytes), "parse and stringify", roundTrip);
compare("fix, valid bytes, format named", () => fix(bytes, { format: "openai-chat" }), "parse and stringify", roundTrip);
compare("fix, valid text", () => fix(text), "parse and stringify", roundTrip);
compare("check, valid bytes", () => check(bytes), "parse and stringify", roundTrip);
compare("fix, valid list", () => fix(list), "stringify", written, 150);
compare("fix, valid list, format named", () => fix(list, { format: "openai-chat" }), "stringify", written, 150);
compare("fix, list with an open call", () => fix(poisoned), "stringify", written, 60);
compare("convert, list to anthropic", () => convert(list, { to: "anthropic" }), "stringify", written, 60);
compare("compact, bytes to a quarter", () => compact(bytes, { maxTokens: 60_000 }), "parse and stringify", roundTrip, 3);

if (process.argv.includes("--native")) {
  const folder = mkdtempSync(join(tmpdir(), "foxwedge-bench-"));
  try {
    compareNative("fix, 1 MB of bytes", bytes, folder);
    compareNative("fix, the list as bytes", encoder.encode(JSON.stringify(list)), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The fastest of many short rounds, here and in a native program: other programs only make a round slower. */
function compareNative(name, document, folder) {
  const file = join(folder, "document.json");
  writeFileSync(file, document);
  const options = ["--quiet", "--profile", "python", "-p", "foxwedge-embed", "--example", "call_time", "--", "fix", file];
  const native = Number(execFileSync("cargo", ["run", ...options], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
  const runs = Math.max(1, Math.round(20 / native));
  let fastest = Infinity;
  for (let round = 0; round < 80; round++) {
    const started = performance.now();
    for (let at = 0; at < runs; at++) fix(document);
    fastest = Math.min(fastest, (performance.now() - started) / runs);
  }
  console.log(`${name.padEnd(34)} ${fastest.toFixed(3)} ms = ${(fastest / native).toFixed(2)} × native (${native.toFixed(3)} ms)`);
}
