"""AutoGen: BufferedChatCompletionContext."""

import asyncio

from autogen_core import FunctionCall
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from lines import chat_call, load, only, plain_chat, serve, store


def to_autogen(message):
    role, text = message["role"], message.get("content") or ""
    if role == "tool":
        result = FunctionExecutionResult(content=text, name="look", call_id=message["tool_call_id"], is_error=False)
        return FunctionExecutionResultMessage(content=[result])
    if role == "assistant":
        calls = [FunctionCall(c["id"], c["function"]["arguments"], c["function"]["name"]) for c in message.get("tool_calls") or []]
        return AssistantMessage(content=calls or text, thought=text if calls and text else None, source="assistant")
    return SystemMessage(content=text) if role == "system" else UserMessage(content=text, source="user")


def to_chat(message):
    if isinstance(message, FunctionExecutionResultMessage):
        return {"role": "tool", "tool_call_id": message.content[0].call_id, "content": message.content[0].content}
    if isinstance(message, AssistantMessage) and not isinstance(message.content, str):
        calls = [chat_call(call.id, call.name, call.arguments) for call in message.content]
        return {"role": "assistant", "content": message.thought or "", "tool_calls": calls}
    role = {"SystemMessage": "system", "UserMessage": "user"}.get(message.type, "assistant")
    return {"role": role, "content": message.content}


def answer(question):
    only(question, ("cut",), ("openai-chat",))
    document, messages = load(question)
    # Instructions are kept outside the context.
    system = [message for message in plain_chat(messages) if message["role"] == "system"]
    history = [to_autogen(message) for message in messages if message["role"] != "system"]
    context = BufferedChatCompletionContext(question["keep"] - len(system), initial_messages=history)
    kept = asyncio.run(context.get_messages())
    return {"output": store(document, system + [to_chat(message) for message in kept])}


serve("autogen-core", answer)
