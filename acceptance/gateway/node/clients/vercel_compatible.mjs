// The Vercel AI SDK, with its provider for OpenAI-compatible servers.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { tasks } from "./vercel_ai.mjs";

export const { talk, say, broken } = tasks((context) => {
  const settings = { name: "foxwedge", baseURL: context.base, apiKey: context.token, fetch: context.fetch };
  return createOpenAICompatible(settings)(context.model);
});
