"""Agent Framework: TruncationStrategy, which drops whole groups."""

import asyncio

from agent_framework import Content, Message
from agent_framework._compaction import TruncationStrategy, annotate_message_groups, project_included_messages
from lines import chat_call, load, only, plain_chat, serve, store


def to_framework(message):
    if message["role"] == "tool":
        result = Content.from_function_result(message["tool_call_id"], result=message["content"])
        return Message("tool", [result])
    contents = [Content.from_text(message["content"])] if message.get("content") else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        contents.append(Content.from_function_call(call["id"], function["name"], arguments=function["arguments"]))
    return Message(message["role"], contents)


def to_chat(message):
    for content in message.contents:
        if content.type == "function_result":
            return {"role": "tool", "tool_call_id": content.call_id, "content": str(content.result)}
    calls = [chat_call(c.call_id, c.name, c.arguments) for c in message.contents if c.type == "function_call"]
    return {"role": str(message.role), "content": message.text, **({"tool_calls": calls} if calls else {})}


def answer(question):
    only(question, ("cut",), ("openai-chat",))
    document, messages = load(question)
    history = [to_framework(message) for message in plain_chat(messages)]
    annotate_message_groups(history)
    asyncio.run(TruncationStrategy(max_n=question["keep"], compact_to=question["keep"])(history))
    return {"output": store(document, [to_chat(message) for message in project_included_messages(history)])}


serve("agent-framework-core", answer)
