"""Google's Agent Development Kit: what it does to the messages for LiteLLM before it sends them."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # No network.

from google.adk.models.lite_llm import _ensure_tool_results
from lines import load, only, serve, store


def answer(question):
    only(question, ("repair",), ("openai-chat",))
    document, messages = load(question)
    return {"output": store(document, _ensure_tool_results(messages, "openai/gpt-5.2"))}


serve("google-adk", answer)
