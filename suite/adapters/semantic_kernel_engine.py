"""Semantic Kernel: ChatHistoryTruncationReducer. It has a goal, not a limit: it gets lower goals until the rest fits."""

import asyncio

from lines import chat_call, load, only, plain_chat, serve, store
from semantic_kernel.contents import ChatMessageContent, FunctionCallContent, FunctionResultContent, TextContent
from semantic_kernel.contents.history_reducer.chat_history_truncation_reducer import ChatHistoryTruncationReducer
from semantic_kernel.contents.utils.author_role import AuthorRole


def to_kernel(message):
    if message["role"] == "tool":
        items = [FunctionResultContent(id=message["tool_call_id"], name="look", result=message["content"])]
        return ChatMessageContent(role=AuthorRole.TOOL, items=items)
    items = [TextContent(text=message["content"])] if message.get("content") else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        items.append(FunctionCallContent(id=call["id"], name=function["name"], arguments=function["arguments"]))
    return ChatMessageContent(role=AuthorRole(message["role"]), items=items)


def to_chat(message):
    results = [item for item in message.items if isinstance(item, FunctionResultContent)]
    if results:
        return {"role": "tool", "tool_call_id": results[0].id, "content": str(results[0].result)}
    calls = [chat_call(i.id, i.name, i.arguments) for i in message.items if isinstance(i, FunctionCallContent)]
    text = "".join(item.text for item in message.items if isinstance(item, TextContent))
    return {"role": message.role.value, "content": text, **({"tool_calls": calls} if calls else {})}


def answer(question):
    only(question, ("cut",), ("openai-chat",))
    document, messages = load(question)
    for goal in range(question["keep"], 0, -1):
        reducer = ChatHistoryTruncationReducer(target_count=goal, threshold_count=0)
        reducer.messages = [to_kernel(message) for message in plain_chat(messages)]
        asyncio.run(reducer.reduce())
        if len(reducer.messages) <= question["keep"]:
            break
    return {"output": store(document, [to_chat(message) for message in reducer.messages])}


serve("semantic-kernel", answer)
