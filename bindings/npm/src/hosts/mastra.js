// Mastra: a processor that repairs the prompt of every request, after all that other processors cut.

import { repairMessages } from "./ai-sdk.js";

/** For `new Agent({ inputProcessors: [repairProcessor()] })`. The stored messages stay as they are. */
export function repairProcessor(options) {
  return {
    id: "foxwedge-repair",
    processLLMRequest({ prompt }) {
      const repaired = repairMessages(prompt, { ...options, format: "ai-sdk-model" });
      return repaired === prompt ? undefined : { prompt: repaired };
    },
  };
}
