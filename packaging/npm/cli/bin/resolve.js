"use strict";

// Finds the binary in the package of this platform. Nothing is downloaded, and nothing runs at installation.

const { platform, arch, env } = process;

/** The packages that can hold a binary for this machine. */
function candidates() {
  const base = `@foxwedge/cli-${platform}-${arch}`;
  // The musl binary is static and runs on every Linux; the other one needs glibc. npm installs the one that fits, so
  // there is no need to ask which C library this is, which takes longer than the program itself.
  return platform === "linux" ? [`${base}-musl`, base] : [base];
}

/** The path of the binary; throws an error that says what is missing, and what to do. */
function resolveBinary() {
  if (env.FOXWEDGE_BINARY) return env.FOXWEDGE_BINARY;
  const name = platform === "win32" ? "foxwedge.exe" : "foxwedge";
  for (const candidate of candidates()) {
    try {
      return require.resolve(`${candidate}/${name}`);
    } catch {
      // The next one, if there is one.
    }
  }
  throw new Error(missing());
}

function missing() {
  const { optionalDependencies } = require("../package.json");
  const known = candidates().filter((candidate) => candidate in optionalDependencies);
  if (known.length === 0) {
    return (
      `there is no foxwedge binary for ${platform} ${arch}\n` +
      "  help: build foxwedge from source, and set FOXWEDGE_BINARY to the path of the binary"
    );
  }
  const musl = platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
  const fitting = known[musl ? 0 : known.length - 1];
  return (
    `no foxwedge binary for ${platform} ${arch}: the package ${fitting} is not installed\n` +
    `  help: npm install ${fitting}@${optionalDependencies[fitting]}\n` +
    "  npm leaves it out with --omit=optional, and where node_modules comes from another system. FOXWEDGE_BINARY can\n" +
    "  name another foxwedge binary."
  );
}

module.exports = { resolveBinary, candidates };
