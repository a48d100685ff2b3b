// AI SDK 6 and 7: does generateText accept the list? The model is a mock; nothing is sent.
import { load, messages, only, serve } from './lines.mjs';

const { convertToModelMessages, generateText } = await load('ai');
const mocks = await load('ai/test');
const Mock = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const model = new Mock({
  doGenerate: async () => ({ content: [{ type: 'text', text: 'ok' }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }),
});

await serve('ai', async (question) => {
  only(question, ['validate'], ['ai-sdk']);
  const [, list] = messages(question);
  try {
    const prompt = question.format === 'ai-sdk-ui' ? await convertToModelMessages(list) : list;
    await generateText({ model, messages: prompt, allowSystemInMessages: true, maxRetries: 0 });
    return { valid: true };
  } catch {
    return { valid: false };
  }
});
