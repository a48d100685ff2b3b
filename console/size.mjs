/** Prints how many bytes a browser loads: the built files, compressed. `node size.mjs FOLDER` */

import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [folder = "dist"] = process.argv.slice(2);
let total = 0;
for (const name of readdirSync(folder, { recursive: true })) {
  const path = join(folder, name);
  if (statSync(path).isFile()) total += gzipSync(readFileSync(path), { level: 9 }).length;
}
console.log(total);
