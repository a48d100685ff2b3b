"""OpenAI Agents SDK: what it does to the input items of a run that is resumed."""

from agents.run_internal.items import normalize_resumed_input
from lines import load, only, serve, store


def answer(question):
    only(question, ("repair",), ("openai-responses",))
    document, items = load(question)
    return {"output": store(document, normalize_resumed_input(items))}


serve("openai-agents", answer)
