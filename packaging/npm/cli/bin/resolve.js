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

/** The path of the binary; throws an error that says what is missing. */
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
  throw new Error(
    `no foxwedge binary for ${platform} ${arch}: the package ${candidates().join(" or ")} is not installed\n` +
      "  help: install without --omit=optional, or set FOXWEDGE_BINARY to the path of a foxwedge binary",
  );
}

module.exports = { resolveBinary, candidates };
