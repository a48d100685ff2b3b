// Reads runs that foxwedge encoded with the official clients, and prints the results.
//
//     node read.mjs < JOBS
//
// A job is one JSON object in a line:
//
//     format   "agui", "ai-sdk", "acp"
//     reader   the package that reads, as named in package.json
//     version  of the protocol, if the reader supports several
//     stream   the server-sent events
//     piece    how many bytes arrive at a time; 0 is all at once
//
// A result is one JSON object in a line: `refused` is why the client rejects the stream, or null; `text` is the text of
// the run, `calls` the client's own status of every call, `end` how the run ended.
// Node looks for packages beside the script, so it must run from a folder that holds both.

import { createInterface } from "node:readline";
import * as agui from "./readers/agui.mjs";
import * as aiSdk from "./readers/ai_sdk.mjs";
import * as acp from "./readers/acp.mjs";

const READERS = { agui, "ai-sdk": aiSdk, acp };

async function readRun(job) {
  // Clients often only log a problem and continue. Here that counts as a rejection.
  const complaints = [];
  console.warn = console.error = (...parts) => complaints.push(parts.map(String).join(" "));
  try {
    const result = await READERS[job.format].read(job);
    return { refused: complaints[0] ?? null, ...result };
  } catch (error) {
    return { refused: `${error.constructor.name}: ${error.message}` };
  }
}

// Output of the clients must not mix with the results.
console.log = console.info = console.debug = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await readRun(JSON.parse(line)))}\n`);
}
