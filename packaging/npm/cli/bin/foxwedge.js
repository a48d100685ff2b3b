#!/usr/bin/env node
"use strict";

const { spawn } = require("node:child_process");
const { resolveBinary } = require("./resolve.js");

let binary;
try {
  binary = resolveBinary();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(2);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// A terminal sends Ctrl-C to both. The program decides what it means, so the launcher waits for it.
const passed = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of passed) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}

child.on("error", (error) => {
  console.error(`error: ${binary} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of passed) process.removeAllListeners(name);
  process.kill(process.pid, signal);
});
