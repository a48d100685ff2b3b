"""LiteLLM: sanitize_messages_for_tool_calling, its converters, trim_messages."""

import copy
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # No network.

import litellm
from lines import Skip, load, only, serve, store
from litellm.litellm_core_utils.prompt_templates import factory
from litellm.llms.vertex_ai.gemini.transformation import _gemini_convert_messages_with_history

litellm.suppress_debug_info = True
litellm.modify_params = True
TOOL = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}


def convert(messages, profile):
    system = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    rest = [m for m in messages if m["role"] not in ("system", "developer")]
    text = "\n".join(s if isinstance(s, str) else "\n".join(p["text"] for p in s) for s in system)
    if profile == "anthropic":
        list_ = factory.anthropic_messages_pt(rest, "claude-sonnet-4-5", "anthropic")
        return {"messages": list_, **({"system": text} if text else {})}
    if profile == "gemini":
        list_ = _gemini_convert_messages_with_history(rest)
        return {"contents": list_, **({"systemInstruction": {"parts": [{"text": text}]}} if text else {})}
    list_ = factory._bedrock_converse_messages_pt(rest, "anthropic.claude-sonnet-4-5", "bedrock_converse")
    return {"messages": list_, "toolConfig": {"tools": [TOOL]}, **({"system": [{"text": text}]} if text else {})}


def answer(question):
    only(question, ("repair", "convert"), ("openai-chat", "anthropic", "gemini", "bedrock"))
    if question["format"] != "openai-chat":
        raise Skip("LiteLLM takes Chat messages")
    document, messages = copy.deepcopy(load(question))
    if '"http' in question["input"]:
        raise Skip("LiteLLM would fetch a picture")
    if question["track"] == "repair":
        return {"output": store(document, factory.sanitize_messages_for_tool_calling(messages))}
    return {"output": convert(messages, question["profile"])}


serve("litellm", answer)
