#!/usr/bin/env node
// Starts the program that the package of this platform brought.
"use strict";
const { spawnSync } = require("node:child_process");

const name = `ramet-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/ramet${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`ramet: the package ${name} is not installed: there is none for this platform, or optional dependencies were left out`);
  process.exit(1);
}
// The program gets the signals of the terminal itself; we only wait for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`ramet: ${error.message}`);
  process.exit(1);
}
process.exit(signal ? 130 : status);
