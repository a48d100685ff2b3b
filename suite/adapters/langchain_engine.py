"""LangChain and LangGraph: the check of prebuilt agents, and trim_messages as its documentation shows it."""

from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages
from langgraph.prebuilt.chat_agent_executor import _validate_chat_history
from lines import load, only, plain_chat, serve, store


def answer(question):
    only(question, ("validate", "cut"), ("openai-chat",))
    document, messages = load(question)
    messages = plain_chat(messages)
    if question["track"] == "validate":
        try:
            _validate_chat_history(convert_to_messages(messages))
            return {"valid": True}
        except Exception:  # What cannot be read is refused, too.
            return {"valid": False}
    history = convert_to_messages(messages)
    kept = trim_messages(
        history,
        max_tokens=question["keep"],
        token_counter=len,
        strategy="last",
        start_on="human",
        end_on=("human", "tool"),
        include_system=True,
    )
    return {"output": store(document, convert_to_openai_messages(kept))}


serve("langchain-core", answer)
