/** The reducer of runs: the same package that others embed. */

export * from "../../clients/typescript/src/index.js";
