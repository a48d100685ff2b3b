"""Pydantic AI: repair_messages, and its mapping to Chat."""

import asyncio

from lines import load, only, plain_chat, serve, store
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

MODEL = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="none"))


def to_pydantic(messages):
    names = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls") or []}
    for message in messages:
        text = message.get("content") or ""
        if message["role"] == "assistant":
            parts = [TextPart(text)] if text else []
            for call in message.get("tool_calls") or []:
                parts.append(ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]))
            yield ModelResponse(parts=parts)
        elif message["role"] == "tool":
            id_ = message.get("tool_call_id", "")
            yield ModelRequest(parts=[ToolReturnPart(names.get(id_, "look"), text, id_)])
        else:
            part = SystemPromptPart if message["role"] == "system" else UserPromptPart
            yield ModelRequest(parts=[part(text)])


def answer(question):
    only(question, ("repair",), ("openai-chat",))
    document, messages = load(question)
    repaired = repair_messages(list(to_pydantic(plain_chat(messages))))
    mapped = asyncio.run(MODEL._map_messages(repaired, ModelRequestParameters()))
    return {"output": store(document, mapped)}


serve("pydantic-ai-slim", answer)
