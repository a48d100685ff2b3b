// The AI SDK. It throws on a call without a result before any middleware runs, so messages are
// repaired first; the middleware is for prompts that other middleware has changed.

import { fix } from "foxwedge";

/** `UIMessage[]` or `ModelMessage[]`, repaired. Where nothing is wrong, it is the same array. */
export function repairMessages(messages, options) {
  return messages.length === 0 ? messages : fix(messages, options).messages;
}

/** A middleware for `wrapLanguageModel`. */
export function repairMiddleware({ specificationVersion = "v4", ...options } = {}) {
  return {
    specificationVersion,
    async transformParams({ params }) {
      const prompt = repairMessages(params.prompt, { ...options, format: "ai-sdk-model" });
      return prompt === params.prompt ? params : { ...params, prompt };
    },
  };
}
