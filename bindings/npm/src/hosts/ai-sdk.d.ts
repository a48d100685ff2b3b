import type { CheckOptions } from "foxwedge";

/** `UIMessage[]` or `ModelMessage[]`, repaired. Where nothing is wrong, it is the same array. */
export function repairMessages<Message>(messages: Message[], options?: CheckOptions): Message[];

/** A middleware for `wrapLanguageModel`. */
export function repairMiddleware(options?: CheckOptions & { specificationVersion?: "v2" | "v3" | "v4" }): any;
