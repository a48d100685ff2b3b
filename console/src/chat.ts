/** The chat and its components: the same package that other pages embed. */

export * from "../../clients/typescript/src/chat/index.js";
export * from "../../clients/typescript/src/components/index.js";
