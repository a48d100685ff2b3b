// Builds the package: its modules, and the CommonJS files from those in src/.
//
//     node build.mjs

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url);
const root = new URL("../../", here);
const target = "wasm32-unknown-unknown";

// The small module first: it is what most programs load. The second one also knows session files and
// message lists of the AI SDK, converts responses and streams, and explains errors. The third one follows agents.
const modules = { "foxwedge.wasm": "requests", "foxwedge-all.wasm": "all", "foxwedge-follow.wasm": "follow" };
for (const [file, feature] of Object.entries(modules)) {
  const options = ["--profile", "wasm", "--target", target, "--no-default-features", "--features", feature];
  execFileSync("cargo", ["build", "-p", "foxwedge-wasm", ...options], {
    cwd: root,
    stdio: "inherit",
    // Every runtime of the last years has SIMD, and the scanner is made for it. The linker leaves five bytes for every
    // number of a function unless it is told to.
    env: { ...process.env, RUSTFLAGS: "-C target-feature=+simd128 -C link-arg=--compress-relocations" },
  });
  copyFileSync(new URL(`target/${target}/wasm/foxwedge_wasm.wasm`, root), new URL(file, here));
  const bytes = readFileSync(new URL(file, here));
  console.log(`${file}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);
}

// Programs in CommonJS run in Node; the files for browsers are left out.
mkdirSync(new URL("cjs/hosts/", here), { recursive: true });
for (const file of ["", "hosts/"].flatMap((folder) => scripts(folder)).filter((file) => !/web\.js$/.test(file))) {
  const source = readFileSync(new URL(`src/${file}`, here), "utf8");
  writeFileSync(new URL(`cjs/${file.replace(/\.js$/, ".cjs")}`, here), commonJs(source));
}

function scripts(folder) {
  const names = readdirSync(new URL(`src/${folder}`, here)).filter((name) => name.endsWith(".js"));
  return names.map((name) => folder + name);
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
