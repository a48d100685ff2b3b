// Builds the package: the two modules, and the CommonJS files from the modules in src/.
//
//     node build.mjs

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url);
const root = new URL("../../", here);
const target = "wasm32-unknown-unknown";

// The small module first: it is what most programs load. The other one also reads session files and
// message lists of the AI SDK, converts streams and explains errors.
for (const [file, features] of [["foxwedge.wasm", ["--no-default-features"]], ["foxwedge-all.wasm", []]]) {
  execFileSync("cargo", ["build", "--profile", "wasm", "--target", target, "-p", "foxwedge-wasm", ...features], {
    cwd: root,
    stdio: "inherit",
    // Every runtime of the last years has it, and the scanner is made for it.
    env: { ...process.env, RUSTFLAGS: "-C target-feature=+simd128" },
  });
  copyFileSync(new URL(`target/${target}/wasm/foxwedge_wasm.wasm`, root), new URL(file, here));
  const bytes = readFileSync(new URL(file, here));
  console.log(`${file}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);
}

mkdirSync(new URL("cjs/", here), { recursive: true });
for (const name of ["engine", "functions", "node"]) {
  const source = readFileSync(new URL(`src/${name}.js`, here), "utf8");
  writeFileSync(new URL(`cjs/${name}.cjs`, here), commonJs(source));
}

/** The few forms of imports and exports that src/ uses. */
function commonJs(source) {
  const exported = [];
  const text = source
    .replace(/^import \{ (.*) \} from "(.*)";$/gm, (_, names, from) => {
      const list = names.replace(/ as /g, ": ");
      return `const { ${list} } = require("${from.replace(/^\.\/(.*)\.js$/, "./$1.cjs")}");`;
    })
    .replace(/^export const \{ (.*) \} = (.*);$/gm, (_, names, from) => {
      exported.push(...names.split(", "));
      return `const { ${names} } = ${from};`;
    })
    .replace(/^export (async function|function|class|const) (\w+)/gm, (_, kind, name) => {
      exported.push(name);
      return `${kind} ${name}`;
    })
    .replace(/new URL\("(.*)", import\.meta\.url\)/g, 'require("node:path").join(__dirname, "$1")');
  if (/^(import|export) /m.test(text)) throw new Error("an import or export was not translated");
  return `"use strict";\n\n${text}\nmodule.exports = { ${exported.join(", ")} };\n`;
}
