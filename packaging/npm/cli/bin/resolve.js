"use strict";

// Finds the binary in the package of this platform. Nothing is downloaded, and nothing runs at installation.

const { platform, arch, env, report } = process;

/** Whether this Linux has musl and not glibc. */
function isMusl() {
  if (platform !== "linux") return false;
  try {
    return !report.getReport().header.glibcVersionRuntime;
  } catch {
    return false;
  }
}

/** The packages that can hold a binary for this machine, the best first. */
function candidates() {
  const base = `@foxwedge/cli-${platform}-${arch}`;
  if (platform !== "linux") return [base];
  // The musl binary is static and runs on every Linux; the other one needs glibc.
  return isMusl() ? [`${base}-musl`] : [base, `${base}-musl`];
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
