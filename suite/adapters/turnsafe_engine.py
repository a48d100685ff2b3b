"""turnsafe: validate, repair, fit."""

import turnsafe
from lines import load, only, serve, store

PROVIDERS = {"openai-chat": "openai", "anthropic": "anthropic"}


def answer(question):
    only(question, ("validate", "repair", "cut"), PROVIDERS)
    provider = PROVIDERS[question["profile"]]
    document, messages = load(question)
    if question["track"] == "validate":
        try:
            return {"valid": turnsafe.validate(messages, provider).ok}
        except (TypeError, ValueError):  # What cannot be read is refused, too.
            return {"valid": False}
    if question["track"] == "repair":
        return {"output": store(document, turnsafe.repair(messages, provider))}
    kept = turnsafe.fit(messages, question["keep"], provider, counter=lambda _: 1)
    return {"output": store(document, kept)}


serve("turnsafe", answer)
