// The protocol of the integrity suite for adapters in Node: one question a line, one answer a line (../SPEC.md).
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

export class Skip extends Error {}

/** Loads a package, or a file of one, from the folder that install.sh made. */
export const folder = path.resolve(process.argv[2] ?? '.');
const require = createRequire(path.join(folder, 'adapter.cjs'));
export const load = (name) => import(require.resolve(name));
export const version = (name) => JSON.parse(fs.readFileSync(path.join(folder, 'node_modules', name, 'package.json'))).version;

/** The document, and the list of messages in it. */
export function messages(question) {
  const document = JSON.parse(question.input);
  if (Array.isArray(document)) return [document, document];
  for (const key of ['messages', 'input', 'contents']) if (Array.isArray(document[key])) return [document, document[key]];
  throw new Skip('the document has no list of messages');
}

/** The document with another list of messages. */
export function store(document, list) {
  if (Array.isArray(document)) return list;
  const key = ['messages', 'input', 'contents'].find((key) => Array.isArray(document[key]));
  return { ...document, [key]: list };
}

export function only(question, tracks, profiles) {
  if (!tracks.includes(question.track) || !profiles.includes(question.profile)) throw new Skip('not a task of this engine');
}

/** Answers questions until stdin ends. What a library logs goes to stderr. */
export async function serve(name, answer) {
  console.log = console.info = console.debug = console.error;
  const engine = `${name} ${version(name)}`;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const question = JSON.parse(line);
    const reply = { id: question.id, engine };
    try {
      Object.assign(reply, await answer(question));
    } catch (error) {
      if (error instanceof Skip) reply.skip = error.message;
      else reply.error = `${error.name}: ${error.message}`.slice(0, 300);
    }
    fs.writeSync(1, JSON.stringify(reply) + '\n');
  }
  process.exit(0);
}
