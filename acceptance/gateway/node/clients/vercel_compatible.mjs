// The AI SDK of Vercel, with its provider for servers that speak like OpenAI.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { tasks } from "./vercel_ai.mjs";

export const { talk, say, broken } = tasks((seat) => {
  const settings = { name: "foxwedge", baseURL: seat.base, apiKey: seat.token, fetch: seat.fetch };
  return createOpenAICompatible(settings)(seat.model);
});
