// Lets TypeScript clients talk to a gateway, and prints what they got.
//
//     node try.mjs < JOBS
//
// The jobs, the tasks and the answers are those of try.py, without `threads`: that is of the Python SDK alone.
// Node looks for packages beside the script, so it is run from a folder that holds both.

import { createInterface } from "node:readline";
import { Seat } from "./seat.mjs";

// A client that waits longer for one task waits for ever.
const PATIENCE = 15_000;
// All of it: whoever waits for this process does not wait longer.
const LONGEST = 150_000;

async function main() {
  setTimeout(() => process.exit(3), LONGEST).unref();
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await bounded(JSON.parse(line)))}\n`);
  }
}

async function bounded(job) {
  let timer;
  const late = new Promise((resolve) => {
    const error = { kinds: [], status: null, told: `nothing for ${PATIENCE} ms` };
    timer = setTimeout(() => resolve({ error }), PATIENCE);
  });
  try {
    return await Promise.race([answer(job), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function answer(job) {
  const seat = new Seat(job);
  const facts = { texts: [], calls: seat.calls, replies: seat.replies, error: null };
  try {
    const client = await import(`./clients/${job.client}.mjs`);
    facts.texts = await client[job.task === "think" ? "talk" : job.task](seat);
  } catch (error) {
    facts.error = told(error);
  }
  return facts;
}

/** An error by all names by which a program could tell it apart, the nearest first. */
function told(error) {
  const kinds = [];
  for (let at = Object(error); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (at.name && !kinds.includes(at.name)) kinds.push(at.name);
    const made = at.constructor?.name;
    if (made && !kinds.includes(made)) kinds.push(made);
  }
  const status = error?.status ?? error?.statusCode ?? null;
  return { kinds, status, told: String(error?.message ?? error).slice(0, 400) };
}

// What clients have to say on the way is not part of the answers.
console.log = console.warn = console.info = console.error = () => {};
// A stream that failed is told by its task, not a second time by the process.
process.on("unhandledRejection", () => {});
await main();
process.exit(0);
