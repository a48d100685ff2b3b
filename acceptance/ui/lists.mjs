// Gives message lists to the AI SDK, and prints whether it accepts them.
//
//     node lists.mjs < JOBS
//
// A job is one JSON object in a line:
//
//     package  "ai", "ai-6" or "ai-4", as named in package.json
//     kind     "ai-sdk-ui" or "ai-sdk-model"
//     list     the messages
//     waits    whether the list waits for an approval, so that it is not sent
//
// A result is one JSON object in a line: `refused` is why the SDK refuses the list, or null.
// Node looks for packages beside the script, so it must run from a folder that holds both.

import { createInterface } from "node:readline";

const PACKAGES = {
  ai: [await import("ai"), await import("ai/test")],
  "ai-6": [await import("ai-6"), await import("ai-6/test")],
  "ai-4": [await import("ai-4"), await import("ai-4/test")],
};

// A model that accepts everything: only the SDK itself can refuse a list. It fetches URLs itself, so nothing leaves the machine.
function model(mocks) {
  if (mocks.MockLanguageModelV1) {
    return new mocks.MockLanguageModelV1({
      supportsUrl: () => true,
      doGenerate: async () => ({
        text: "ok",
        finishReason: "stop",
        usage: { promptTokens: 1, completionTokens: 1 },
        rawCall: { rawPrompt: null, rawSettings: {} },
      }),
    });
  }
  const Model = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
  return new Model({
    supportedUrls: { "*/*": [/./] },
    doGenerate: async () => ({
      content: [{ type: "text", text: "ok" }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    }),
  });
}

async function judge({ package: name, kind, list, waits }) {
  const [sdk, mocks] = PACKAGES[name];
  let messages = list;
  try {
    if (kind === "ai-sdk-ui" && sdk.convertToCoreMessages) {
      messages = sdk.convertToCoreMessages(list);
    } else if (kind === "ai-sdk-ui") {
      await sdk.validateUIMessages({ messages: list });
      messages = await sdk.convertToModelMessages(list);
    }
    if (!waits) {
      await sdk.generateText({ model: model(mocks), messages, allowSystemInMessages: true });
    }
    return { refused: null };
  } catch (error) {
    return { refused: `${error.name}: ${error.message.slice(0, 300)}` };
  }
}

globalThis.AI_SDK_LOG_WARNINGS = false;
// Output of the SDK must not mix with the results.
console.log = console.info = console.debug = console.warn = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await judge(JSON.parse(line)))}\n`);
}
