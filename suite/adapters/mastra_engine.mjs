// Mastra: what it removes from model messages before a prompt.
import { load, messages, only, serve, store } from './lines.mjs';

const { sanitizeOrphanedToolPairs } = await load('@mastra/core/agent/message-list');

await serve('@mastra/core', async (question) => {
  only(question, ['repair'], ['ai-sdk']);
  if (question.format !== 'ai-sdk-model') return { skip: 'the function takes model messages' };
  const [document, list] = messages(question);
  return { output: store(document, sanitizeOrphanedToolPairs(list)) };
});
