// Builds the package: its modules, the CommonJS files from those in src/, and the launcher of the command line.
//
//     node build.mjs

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { packModule } from "./pack/index.mjs";

const here = new URL(".", import.meta.url);
const root = new URL("../../", here);
const target = "wasm32-unknown-unknown";

// The smallest module checks and fixes requests. The one that most programs load also converts and compacts them. The third
// one also knows session files and message lists of the AI SDK, converts responses and streams, and explains errors. The
// next one follows agents. The last one is the second one again, built for speed: Node reads it from a disk, browsers
// download the other.
const modules = {
  "foxwedge-check.wasm": ["check", "wasm"],
  "foxwedge.wasm": ["requests", "wasm"],
  "foxwedge-all.wasm": ["all", "wasm"],
  "foxwedge-follow.wasm": ["follow", "wasm"],
  "foxwedge-node.wasm": ["requests", "wasm-speed"],
};
// Every runtime of the last years has SIMD, and the scanner is made for it. What the linker knows of references is needed to
// leave out what nothing refers to. Places of panics name source files, not the folders of this machine.
const registry = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "registry/src");
const flags = ["-Ctarget-feature=+simd128", "-Clink-arg=--emit-relocs", `--remap-path-prefix=${registry}=`];
for (const [file, [feature, profile]] of Object.entries(modules)) {
  const options = ["--profile", profile, "--target", target, "--no-default-features", "--features", feature];
  execFileSync("cargo", ["build", "-p", "foxwedge-wasm", ...options], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, CARGO_ENCODED_RUSTFLAGS: flags.join("\x1f") },
  });
  const built = readFileSync(new URL(`target/${target}/${profile}/foxwedge_wasm.wasm`, root));
  const bytes = packModule(built);
  writeFileSync(new URL(file, here), bytes);
  console.log(`${file}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} compressed`);
}

// Programs in CommonJS run in Node; the files for browsers are left out.
mkdirSync(new URL("cjs/hosts/", here), { recursive: true });
for (const file of ["", "hosts/"].flatMap((folder) => scripts(folder)).filter((file) => !/web\.js$/.test(file))) {
  const source = readFileSync(new URL(`src/${file}`, here), "utf8");
  writeFileSync(new URL(`cjs/${file.replace(/\.js$/, ".cjs")}`, here), commonJs(source));
}

// The command line: the launcher of `@foxwedge/cli`, which finds the binary of the platform.
const launcher = new URL("packaging/npm/cli/bin/", root);
mkdirSync(new URL("bin/", here), { recursive: true });
for (const file of readdirSync(launcher)) {
  const source = readFileSync(new URL(file, launcher), "utf8").replace('require("./resolve.js")', 'require("./resolve.cjs")');
  writeFileSync(new URL(`bin/${file.replace(/\.js$/, ".cjs")}`, here), source, { mode: 0o755 });
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
