/** The run reducer: the same package that other user interfaces embed. */

export * from "../../clients/typescript/src/index.js";
