// Answers queries as the search of the manual does: `node find.mjs FOLDER`, one query per line on stdin,
// the address of the first page per line on stdout.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { prepare, search } = await import(pathToFileURL(`${folder}/search.js`));
const pages = prepare(JSON.parse(readFileSync(`${folder}/search-index.json`, "utf8")));
for (const query of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  console.log(search(pages, query)[0]?.url ?? "");
}
