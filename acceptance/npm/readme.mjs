// Examples of the README, run as they are written.

import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("README.md", import.meta.resolve("foxwedge/foxwedge.wasm")), "utf8");

/** Runs the code under a heading with what it takes for granted, and returns the names that it defines. */
export async function runExample(heading, given, ...wanted) {
  const [, section] = readme.split(new RegExp(`^##+ ${heading}$`, "m"));
  const [, code] = /```js\n(.*?)```/s.exec(section);
  const body = code
    .replace(/^import \{ (.*) \} from (".*");$/gm, "const { $1 } = await load($2);")
    .replace(/^export \{ (.*) \} from (".*");$/gm, "const { $1 } = await load($2);");
  const AsyncFunction = (async () => {}).constructor;
  const example = new AsyncFunction("load", ...Object.keys(given), `${body}\nreturn { ${wanted.join(", ")} };`);
  return example((name) => import(name), ...Object.values(given));
}
