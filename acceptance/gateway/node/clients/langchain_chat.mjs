// LangChain, with its model for OpenAI.

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { NEXT, PLAIN } from "../seat.mjs";

export async function talk(seat) {
  const model = bound(seat);
  const history = [new HumanMessage(seat.question)];
  let message;
  for (;;) {
    message = await asked(model, seat, history);
    history.push(message);
    if (!message.tool_calls?.length) break;
    for (const { id, name, args } of message.tool_calls) {
      history.push(new ToolMessage({ content: seat.run(name, args), tool_call_id: id }));
    }
  }
  history.push(new HumanMessage(NEXT));
  return [message.text, (await asked(model, seat, history)).text];
}

export async function say(seat) {
  return [(await asked(bound(seat), seat, [new HumanMessage(PLAIN)])).text];
}

export async function broken(seat) {
  const history = [
    new HumanMessage("what is the weather?"),
    new AIMessage({ content: "", tool_calls: [{ id: "call_a", name: "weather", args: { city: "Ulm" } }] }),
    new HumanMessage("never mind"),
    new AIMessage("As you like."),
    new ToolMessage({ content: "noon", tool_call_id: "call_nobody" }),
    new HumanMessage(PLAIN),
  ];
  return [(await asked(bound(seat), seat, history)).text];
}

async function asked(model, seat, history) {
  if (!seat.stream) return model.invoke(history);
  let whole;
  for await (const chunk of await model.stream(history)) whole = whole ? whole.concat(chunk) : chunk;
  return whole;
}

function bound(seat) {
  const model = new ChatOpenAI({
    model: seat.model,
    apiKey: seat.token,
    maxRetries: 0,
    useResponsesApi: seat.face === "responses",
    configuration: { baseURL: seat.base, fetch: seat.fetch },
  });
  const made = (name, description, shape, run) => tool(run, { name, description, schema: z.object(shape) });
  return model.bindTools([
    made("weather", "Tells the weather.", { city: z.string() }, (given) => seat.weather(given)),
    made("clock", "Tells the time.", { zone: z.string() }, (given) => seat.clock(given)),
  ]);
}
