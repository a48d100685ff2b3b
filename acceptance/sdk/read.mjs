// Parses response bodies and streams with the official TypeScript SDKs, and prints the results.
//
//     node read.mjs FORMAT KIND FILE [READER [PIECE]]
//     node read.mjs < JOBS
//
// Arguments, jobs and results are those of read.py. There is no `strict` reader: types do not exist at run time.
// Node looks for packages beside the script, so it must run from a folder that holds both.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const MODULES = {
  "openai-chat": "./readers/openai_chat.mjs",
  "openai-responses": "./readers/openai_responses.mjs",
  anthropic: "./readers/anthropic_messages.mjs",
  gemini: "./readers/gemini.mjs",
  "gemini-interactions": "./readers/gemini_interactions.mjs",
};

async function main(args) {
  if (args.length > 0) {
    const [format, kind, path, reader, piece] = args;
    return print(await read({ format, kind, path, reader, piece }));
  }
  for await (const line of createInterface({ input: process.stdin })) print(await read(JSON.parse(line)));
}

async function read({ format, kind, path, reader = "plain", piece = 0 }) {
  const body = readFileSync(path);
  const module = await import(MODULES[format]);
  const parse = { response: module.response, stream: module.stream }[kind];
  try {
    return await parse(body, reader, Number(piece));
  } catch (error) {
    return { error: `${error.constructor.name}: ${error.message}` };
  }
}

function print(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

// Output of the SDKs is not part of the results.
console.log = console.error;
await main(process.argv.slice(2));
