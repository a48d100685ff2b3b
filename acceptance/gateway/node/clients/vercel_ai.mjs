// The Vercel AI SDK, with its providers for OpenAI and Anthropic.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { NEXT, PLAIN } from "../seat.mjs";

export const { talk, say, broken } = tasks(model);

/** The tasks, with the model of a provider. */
export function tasks(model) {
  return {
    async talk(context) {
      const history = [user(context.question)];
      const first = await send(model(context), context, history);
      history.push(...first.messages, user(NEXT));
      const second = await send(model(context), context, history);
      return [first.text, second.text];
    },

    async say(context) {
      return [(await send(model(context), context, [user(PLAIN)])).text];
    },

    // The SDK itself rejects a tool call without a result, so here only the result is invalid.
    async broken(context) {
      const output = { type: "text", value: "noon" };
      const result = { type: "tool-result", toolCallId: "call_nobody", toolName: "clock", output };
      const history = [
        user("what is the weather?"),
        { role: "assistant", content: "I do not know." },
        { role: "tool", content: [result] },
        user(PLAIN),
      ];
      return [(await send(model(context), context, history)).text];
    },
  };
}

async function send(model, context, messages) {
  const request = {
    model,
    messages,
    maxRetries: 0,
    stopWhen: stepCountIs(5),
    // Otherwise the provider for responses sends references to items instead of their content.
    providerOptions: { openai: { store: false } },
    tools: {
      weather: makeTool("Tells the weather.", { city: z.string() }, (args) => context.weather(args)),
      clock: makeTool("Tells the time.", { zone: z.string() }, (args) => context.clock(args)),
    },
  };
  if (!context.stream) {
    const { text, response } = await generateText(request);
    return { text, messages: response.messages };
  }
  // Errors are parts of the stream, not exceptions.
  let failure;
  const streamed = streamText({ ...request, onError: ({ error }) => (failure = error) });
  await streamed.consumeStream();
  if (failure) throw failure;
  return { text: await streamed.text, messages: (await streamed.response).messages };
}

function makeTool(description, shape, execute) {
  return tool({ description, inputSchema: z.object(shape), execute });
}

function model(context) {
  if (context.face === "messages") {
    const settings = { baseURL: context.base, authToken: context.token, fetch: context.fetch };
    return createAnthropic(settings)(context.model);
  }
  const openai = createOpenAI({ baseURL: context.base, apiKey: context.token, fetch: context.fetch });
  return context.face === "chat" ? openai.chat(context.model) : openai.responses(context.model);
}

function user(content) {
  return { role: "user", content };
}
