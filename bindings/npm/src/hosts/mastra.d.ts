import type { CheckOptions } from "foxwedge";

/** For `new Agent({ inputProcessors: [repairProcessor()] })`. The stored messages stay as they are. */
export function repairProcessor(options?: CheckOptions): {
  id: string;
  processLLMRequest(given: { prompt: any }): { prompt: any } | undefined;
};
