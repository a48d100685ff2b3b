// Lets the official TypeScript SDKs read response bodies and streams, and prints what they understood.
//
//     node read.mjs FORMAT KIND FILE [READER [PIECE]]
//     node read.mjs < JOBS
//
// The words, the jobs and the answers are those of read.py. There is no `strict` here: types are gone at run time.
// Node looks for packages beside the script, so it is run from a folder that holds both.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const MODULES = {
  "openai-chat": "./readers/openai_chat.mjs",
  "openai-responses": "./readers/openai_responses.mjs",
  anthropic: "./readers/anthropic_messages.mjs",
  gemini: "./readers/gemini.mjs",
};

async function main(words) {
  if (words.length > 0) {
    const [format, kind, path, reader, piece] = words;
    return print(await read({ format, kind, path, reader, piece }));
  }
  for await (const line of createInterface({ input: process.stdin })) print(await read(JSON.parse(line)));
}

async function read({ format, kind, path, reader = "plain", piece = 0 }) {
  const body = readFileSync(path);
  const module = await import(MODULES[format]);
  const reading = { response: module.response, stream: module.stream }[kind];
  try {
    return await reading(body, reader, Number(piece));
  } catch (error) {
    return { error: `${error.constructor.name}: ${error.message}` };
  }
}

function print(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

// What the SDKs have to say on the way is not part of the answers.
console.log = console.error;
await main(process.argv.slice(2));
