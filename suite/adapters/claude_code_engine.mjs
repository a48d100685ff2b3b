// Claude Code: what it sends when it resumes a session with this history.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { PROMPT, makeHome, run, startServer } from './agents.mjs';
import { folder, messages, only, serve, Skip, version } from './lines.mjs';

const PACKAGE = '@anthropic-ai/claude-code-linux-x64';
const state = await startServer();
const home = makeHome('claude-code');
const project = path.join(home, '.claude', 'projects', home.replace(/[^a-zA-Z0-9]/g, '-'));
fs.mkdirSync(project, { recursive: true });
const off = ['DISABLE_TELEMETRY', 'DISABLE_AUTOUPDATER', 'IS_SANDBOX', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC'].map((name) => [name, '1']);
const env = { ANTHROPIC_BASE_URL: state.url, ANTHROPIC_API_KEY: 'none', ...Object.fromEntries(off) };
const blocks = ({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);
const added = ({ type, text }) => type === 'text' && (text === PROMPT || text === 'No response requested.' || text.startsWith('<system-reminder>'));

await serve(PACKAGE, async (question) => {
  only(question, ['repair'], ['anthropic']);
  const [document, list] = messages(question);
  if (document !== list || list.some(({ role }) => !['user', 'assistant'].includes(role))) throw new Skip('a session holds messages only');
  const ids = list.map(() => randomUUID());
  const records = list.map((message, at) => {
    const reply = message.role === 'assistant' && { id: `msg_${at}`, type: 'message', model: 'claude-sonnet-4-5', content: blocks(message) };
    const record = { parentUuid: ids[at - 1] ?? null, uuid: ids[at], isSidechain: false, userType: 'external', cwd: home, sessionId: ids[0], version: version(PACKAGE) };
    return JSON.stringify({ ...record, type: message.role, message: { ...message, ...reply }, timestamp: new Date(1.7e12 + at).toISOString() });
  });
  fs.writeFileSync(path.join(project, `${ids[0]}.jsonl`), records.join('\n') + '\n');
  const program = path.join(folder, 'node_modules', PACKAGE, 'claude');
  const sent = await run(state, home, program, ['-p', '--dangerously-skip-permissions', '--resume', ids[0], PROMPT], env);
  const kept = sent.messages.filter(({ role }) => role !== 'system');
  const output = kept.map((message) => ({ role: message.role, content: blocks(message).filter((block) => !added(block)).map(({ cache_control, ...block }) => block) }));
  return { output: output.filter(({ content }) => content.length > 0) };
});
