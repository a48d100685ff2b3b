"""Deep Agents: PatchToolCallsMiddleware, which closes open calls before an agent runs."""

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain_core.messages import RemoveMessage, convert_to_messages, convert_to_openai_messages
from lines import load, only, plain_chat, serve, store


def answer(question):
    only(question, ("repair",), ("openai-chat",))
    document, messages = load(question)
    history = convert_to_messages(plain_chat(messages))
    patched = PatchToolCallsMiddleware().before_agent({"messages": history}, None)
    if patched is None:
        return {"output": document}
    kept = [message for message in patched["messages"] if not isinstance(message, RemoveMessage)]
    return {"output": store(document, convert_to_openai_messages(kept))}


serve("deepagents", answer)
