// Builds the package: the engine, and the CommonJS files from the modules in src/.
//
//     node build.mjs

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url);
const root = new URL("../../", here);
const target = "wasm32-unknown-unknown";

execFileSync("cargo", ["build", "--profile", "wasm", "--target", target, "-p", "foxwedge-wasm"], {
  cwd: root,
  stdio: "inherit",
  // Every runtime of the last years has it, and the scanner is made for it.
  env: { ...process.env, RUSTFLAGS: "-C target-feature=+simd128" },
});
const wasm = new URL("foxwedge.wasm", here);
copyFileSync(new URL(`target/${target}/wasm/foxwedge_wasm.wasm`, root), wasm);

mkdirSync(new URL("cjs/", here), { recursive: true });
for (const name of ["engine", "functions", "node"]) {
  const source = readFileSync(new URL(`src/${name}.js`, here), "utf8");
  writeFileSync(new URL(`cjs/${name}.cjs`, here), commonJs(source));
}

const bytes = readFileSync(wasm);
console.log(`foxwedge.wasm: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);

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
