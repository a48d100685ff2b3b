// LangChain.js: trimMessages as its documentation shows it.
import { Skip, load, messages, only, serve, store } from './lines.mjs';

const { AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages } = await load('@langchain/core/messages');

function toLangChain(message) {
  if (message.content !== null && typeof message.content !== 'string') throw new Skip('the adapter carries plain text only');
  const content = message.content ?? '';
  if (message.role === 'tool') return new ToolMessage({ content, tool_call_id: message.tool_call_id });
  if (message.role === 'system') return new SystemMessage(content);
  if (message.role === 'user') return new HumanMessage(content);
  const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }));
  return new AIMessage({ content, tool_calls: calls });
}

function toChat(message) {
  const role = { human: 'user', ai: 'assistant', system: 'system', tool: 'tool' }[message.getType()];
  const chat = { role, content: message.content };
  if (role === 'tool') chat.tool_call_id = message.tool_call_id;
  const call = (it) => ({ id: it.id, type: 'function', function: { name: it.name, arguments: JSON.stringify(it.args) } });
  if (message.tool_calls?.length) chat.tool_calls = message.tool_calls.map(call);
  return chat;
}

await serve('@langchain/core', async (question) => {
  only(question, ['cut'], ['openai-chat']);
  const [document, list] = messages(question);
  const options = { maxTokens: question.keep, tokenCounter: (it) => it.length, strategy: 'last', startOn: 'human', endOn: ['human', 'tool'], includeSystem: true };
  const kept = await trimMessages(list.map(toLangChain), options);
  return { output: store(document, kept.map(toChat)) };
});
