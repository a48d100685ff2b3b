// Google's SDK: contents, whole and as a stream.

import { GoogleGenAI } from "@google/genai";
import { NEXT, PLAIN, TOOLS } from "../seat.mjs";

export async function talk(context) {
  const google = client(context);
  const history = [user(context.question)];
  let content;
  for (;;) {
    content = await send(google, context, history);
    history.push(content);
    const calls = content.parts.flatMap((part) => part.functionCall ?? []);
    if (calls.length === 0) break;
    const parts = calls.map(({ id, name, args }) => {
      return { functionResponse: { id, name, response: { output: context.run(name, args) } } };
    });
    history.push({ role: "user", parts });
  }
  history.push(user(NEXT));
  return [text(content), text(await send(google, context, history))];
}

export async function say(context) {
  return [text(await send(client(context), context, [user(PLAIN)]))];
}

export async function broken(context) {
  const history = [
    user("what is the weather?"),
    { role: "model", parts: [{ functionCall: { name: "weather", args: { city: "Ulm" } } }] },
    user("never mind"),
    { role: "model", parts: [{ text: "As you like." }] },
    {
      role: "user",
      parts: [{ functionResponse: { name: "nobody", response: { output: "noon" } } }, { text: PLAIN }],
    },
  ];
  return [text(await send(client(context), context, history))];
}

export async function models(context) {
  const names = [];
  for await (const model of await client(context).models.list()) names.push(model.name.replace(/^models\//, ""));
  return names.sort();
}

export async function count(context) {
  const request = { model: encodeURIComponent(context.model), contents: [user(PLAIN)] };
  const tokens = await client(context).models.countTokens(request);
  return [String(tokens.totalTokens)];
}

function client(context) {
  // The SDK has no option for this.
  globalThis.fetch = context.fetch;
  return new GoogleGenAI({ apiKey: context.token, httpOptions: { baseUrl: context.origin } });
}

async function send(google, context, history) {
  const functionDeclarations = TOOLS.map(({ name, description, parameters }) => {
    return { name, description, parametersJsonSchema: parameters };
  });
  const config = { tools: [{ functionDeclarations }], automaticFunctionCalling: { disable: true } };
  const request = { model: encodeURIComponent(context.model), contents: history, config };
  if (!context.stream) return (await google.models.generateContent(request)).candidates[0].content;
  const parts = [];
  for await (const chunk of await google.models.generateContentStream(request)) {
    for (const candidate of chunk.candidates ?? []) parts.push(...(candidate.content?.parts ?? []));
  }
  return { role: "model", parts };
}

function text(content) {
  return content.parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join("");
}

function user(text) {
  return { role: "user", parts: [{ text }] };
}
