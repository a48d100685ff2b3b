// Lets the official clients read runs that foxwedge encoded, and prints what they understood.
//
//     node read.mjs < JOBS
//
// A job is one JSON object in a line:
//
//     format   "agui", "ai-sdk", "acp"
//     reader   the package that reads, as package.json calls it
//     version  of the protocol, where the reader knows several
//     stream   the server-sent events
//     piece    how many bytes arrive at a time; 0 is all at once
//
// An answer is one JSON object in a line: `refused` says why the client does not take the stream, and is null if it
// does; `text` is what the run said, `calls` how every call ended in the client's own words, `end` how the run did.
// Node looks for packages beside the script, so it is run from a folder that holds both.

import { createInterface } from "node:readline";
import * as agui from "./readers/agui.mjs";
import * as aiSdk from "./readers/ai_sdk.mjs";
import * as acp from "./readers/acp.mjs";

const READERS = { agui, "ai-sdk": aiSdk, acp };

async function answer(job) {
  // A client that finds something odd often says so and goes on. Here that is a refusal.
  const complaints = [];
  console.warn = console.error = (...words) => complaints.push(words.map(String).join(" "));
  try {
    const understood = await READERS[job.format].read(job);
    return { refused: complaints[0] ?? null, ...understood };
  } catch (error) {
    return { refused: `${error.constructor.name}: ${error.message}` };
  }
}

// What the clients print must not be taken for an answer.
console.log = console.info = console.debug = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
