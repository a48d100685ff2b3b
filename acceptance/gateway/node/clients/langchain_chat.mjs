// LangChain, with its model for OpenAI.

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { NEXT, PLAIN } from "../seat.mjs";

export async function talk(context) {
  const model = modelWithTools(context);
  const history = [new HumanMessage(context.question)];
  let message;
  for (;;) {
    message = await send(model, context, history);
    history.push(message);
    if (!message.tool_calls?.length) break;
    for (const { id, name, args } of message.tool_calls) {
      history.push(new ToolMessage({ content: context.run(name, args), tool_call_id: id }));
    }
  }
  history.push(new HumanMessage(NEXT));
  return [message.text, (await send(model, context, history)).text];
}

export async function say(context) {
  return [(await send(modelWithTools(context), context, [new HumanMessage(PLAIN)])).text];
}

export async function broken(context) {
  const history = [
    new HumanMessage("what is the weather?"),
    new AIMessage({ content: "", tool_calls: [{ id: "call_a", name: "weather", args: { city: "Ulm" } }] }),
    new HumanMessage("never mind"),
    new AIMessage("As you like."),
    new ToolMessage({ content: "noon", tool_call_id: "call_nobody" }),
    new HumanMessage(PLAIN),
  ];
  return [(await send(modelWithTools(context), context, history)).text];
}

async function send(model, context, history) {
  if (!context.stream) return model.invoke(history);
  let message;
  for await (const chunk of await model.stream(history)) message = message ? message.concat(chunk) : chunk;
  return message;
}

function modelWithTools(context) {
  const model = new ChatOpenAI({
    model: context.model,
    apiKey: context.token,
    maxRetries: 0,
    useResponsesApi: context.face === "responses",
    configuration: { baseURL: context.base, fetch: context.fetch },
  });
  const makeTool = (name, description, shape, run) => tool(run, { name, description, schema: z.object(shape) });
  return model.bindTools([
    makeTool("weather", "Tells the weather.", { city: z.string() }, (args) => context.weather(args)),
    makeTool("clock", "Tells the time.", { zone: z.string() }, (args) => context.clock(args)),
  ]);
}
