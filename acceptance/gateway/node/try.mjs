// Runs TypeScript clients against a gateway, and prints their results.
//
//     node try.mjs < JOBS
//
// Jobs, tasks and results are those of try.py, without `threads`, which only the Python SDK has.
// Node looks for packages beside the script, so it must run from a folder that holds both.

import { createInterface } from "node:readline";
import { ClientContext } from "./seat.mjs";

// The time limit of one task.
const TASK_TIMEOUT = 15_000;
// The time limit of the whole process.
const TOTAL_TIMEOUT = 150_000;

async function main() {
  setTimeout(() => process.exit(3), TOTAL_TIMEOUT).unref();
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await runWithTimeout(JSON.parse(line)))}\n`);
  }
}

async function runWithTimeout(job) {
  let timer;
  const timeout = new Promise((resolve) => {
    const error = { kinds: [], status: null, told: `no result within ${TASK_TIMEOUT} ms` };
    timer = setTimeout(() => resolve({ error }), TASK_TIMEOUT);
  });
  try {
    return await Promise.race([runJob(job), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function runJob(job) {
  const context = new ClientContext(job);
  const report = { texts: [], calls: context.calls, replies: context.replies, error: null };
  try {
    const client = await import(`./clients/${job.client}.mjs`);
    report.texts = await client[job.task === "think" ? "talk" : job.task](context);
  } catch (error) {
    report.error = describeError(error);
  }
  return report;
}

/** An error with all names by which a program could identify it, most specific first. */
function describeError(error) {
  const kinds = [];
  for (let at = Object(error); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (at.name && !kinds.includes(at.name)) kinds.push(at.name);
    const constructorName = at.constructor?.name;
    if (constructorName && !kinds.includes(constructorName)) kinds.push(constructorName);
  }
  const status = error?.status ?? error?.statusCode ?? null;
  return { kinds, status, told: String(error?.message ?? error).slice(0, 400) };
}

// Output of the clients is not part of the results.
console.log = console.warn = console.info = console.error = () => {};
// The task reports a failed stream; the process must not fail as well.
process.on("unhandledRejection", () => {});
await main();
process.exit(0);
