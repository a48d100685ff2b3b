// gemini-cli: the hardener that runs before a history is sent.
import path from 'node:path';
import { folder, messages, only, serve, store } from './lines.mjs';

const file = path.join(folder, 'node_modules/@google/gemini-cli-core/dist/src/utils/historyHardening.js');
const { hardenHistory } = await import(file);

await serve('@google/gemini-cli-core', async (question) => {
  only(question, ['repair'], ['gemini']);
  const [document, contents] = messages(question);
  const turns = contents.map((content, at) => ({ id: `t${at}`, content }));
  return { output: store(document, hardenHistory(turns).map((turn) => turn.content)) };
});
