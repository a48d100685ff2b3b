// The AI SDK of Vercel, with its providers for OpenAI and Anthropic.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { NEXT, PLAIN } from "../seat.mjs";

export const { talk, say, broken } = tasks(model);

/** The tasks, with the model of a provider. */
export function tasks(model) {
  return {
    async talk(seat) {
      const history = [user(seat.question)];
      const first = await asked(model(seat), seat, history);
      history.push(...first.messages, user(NEXT));
      const second = await asked(model(seat), seat, history);
      return [first.text, second.text];
    },

    async say(seat) {
      return [(await asked(model(seat), seat, [user(PLAIN)])).text];
    },

    // A call without an answer is refused by the SDK itself, so only the answer is broken here.
    async broken(seat) {
      const output = { type: "text", value: "noon" };
      const answer = { type: "tool-result", toolCallId: "call_nobody", toolName: "clock", output };
      const history = [
        user("what is the weather?"),
        { role: "assistant", content: "I do not know." },
        { role: "tool", content: [answer] },
        user(PLAIN),
      ];
      return [(await asked(model(seat), seat, history)).text];
    },
  };
}

async function asked(model, seat, messages) {
  const request = {
    model,
    messages,
    maxRetries: 0,
    stopWhen: stepCountIs(5),
    // Without this the provider for responses sends references to items instead of what was said.
    providerOptions: { openai: { store: false } },
    tools: {
      weather: made("Tells the weather.", { city: z.string() }, (given) => seat.weather(given)),
      clock: made("Tells the time.", { zone: z.string() }, (given) => seat.clock(given)),
    },
  };
  if (!seat.stream) {
    const { text, response } = await generateText(request);
    return { text, messages: response.messages };
  }
  // Errors are parts of its stream, not exceptions.
  let failed;
  const streamed = streamText({ ...request, onError: ({ error }) => (failed = error) });
  await streamed.consumeStream();
  if (failed) throw failed;
  return { text: await streamed.text, messages: (await streamed.response).messages };
}

function made(description, shape, execute) {
  return tool({ description, inputSchema: z.object(shape), execute });
}

function model(seat) {
  if (seat.face === "messages") {
    return createAnthropic({ baseURL: seat.base, authToken: seat.token, fetch: seat.fetch })(seat.model);
  }
  const openai = createOpenAI({ baseURL: seat.base, apiKey: seat.token, fetch: seat.fetch });
  return seat.face === "chat" ? openai.chat(seat.model) : openai.responses(seat.model);
}

function user(content) {
  return { role: "user", content };
}
