// Codex: what it sends when it resumes a session with this history.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { PROMPT, makeHome, run, startServer } from './agents.mjs';
import { folder, messages, only, serve, Skip, version } from './lines.mjs';

const PROGRAM = 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex';
const state = await startServer();
const home = makeHome('codex');
const sessions = path.join(home, '.codex/sessions/2026/11/18');
fs.mkdirSync(sessions, { recursive: true });
const provider = `[model_providers.none]\nname = "none"\nbase_url = "${state.url}/v1"\nenv_key = "NONE"\nwire_api = "responses"\nsupports_websockets = false\n`;
fs.writeFileSync(path.join(home, '.codex/config.toml'), `model = "none"\nmodel_provider = "none"\n\n${provider}`);
const text = (item) => (typeof item.content === 'string' ? item.content : (item.content?.[0]?.text ?? ''));
const part = (role, text) => [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }];
const typed = (item) => (typeof item.content === 'string' ? { type: 'message', role: item.role, content: part(item.role, item.content) } : item);
const added = (item) => item.role === 'developer' || text(item) === PROMPT || /^<[a-z_]+>|^# AGENTS/.test(text(item));

await serve('@openai/codex', async (question) => {
  only(question, ['repair'], ['openai-responses']);
  const [document, list] = messages(question);
  const plain = ({ type, role, content }) => ['user', 'assistant'].includes(role) ? typeof content === 'string' || content.every(({ text }) => text) : /^function_call/.test(type);
  if (document !== list || !list.every(plain)) throw new Skip('the adapter carries plain text and function calls only');
  const [id, timestamp] = [randomUUID(), '2026-11-18T00:00:00.000Z'];
  const meta = { id, timestamp, cwd: home, originator: 'codex_exec', cli_version: version('@openai/codex'), source: 'exec', model_provider: 'none' };
  const records = list.map((item) => ({ timestamp, type: 'response_item', payload: typed(item) }));
  const lines = [{ timestamp, type: 'session_meta', payload: meta }, ...records].map((record) => JSON.stringify(record) + '\n');
  fs.writeFileSync(path.join(sessions, `rollout-2026-11-18T00-00-00-${id}.jsonl`), lines.join(''));
  const args = ['exec', '--json', '--skip-git-repo-check', 'resume', id, PROMPT];
  const sent = await run(state, home, path.join(folder, PROGRAM), args, { CODEX_HOME: path.join(home, '.codex'), NONE: 'none' });
  return { output: sent.input.filter((item) => !added(item)) };
});
