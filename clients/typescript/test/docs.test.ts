import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { folder } from "./vectors.js";

const PAGE = fileURLToPath(new URL("../../docs/runs/typescript.md", pathToFileURL(`${folder()}/`)));

test("the example in the documentation prints what it says", async () => {
  const page = readFileSync(PAGE, "utf8");
  const found = /```js\n(.*?)```\n\n```text\n(.*?)```/s.exec(page);
  const [, code = "", expected = ""] = found ?? [];
  const here = new URL("../src/index.js", import.meta.url).href;
  const module = code.replace('"foxwedge-run"', JSON.stringify(here));
  const printed: string[] = [];
  const { log } = console;
  console.log = (...things: unknown[]) => {
    const words = things.map((thing) => (typeof thing === "string" ? thing : inspect(thing)));
    printed.push(words.join(" ").trimEnd());
  };
  try {
    await import(`data:text/javascript,${encodeURIComponent(module)}`);
  } finally {
    console.log = log;
  }
  assert.equal(`${printed.join("\n")}\n`, expected);
});
