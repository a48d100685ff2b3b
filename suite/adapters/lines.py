"""The protocol of the integrity suite for adapters in Python: one question a line, one answer a line (../SPEC.md)."""

import importlib.metadata
import json
import os
import sys


class Skip(Exception):
    """The engine does not do this."""


def load(question):
    """The document, and the list of messages in it."""
    document = json.loads(question["input"])
    if isinstance(document, list):
        return document, document
    for key in ("messages", "input", "contents"):
        if isinstance(document.get(key), list):
            return document, document[key]
    raise Skip("the document has no list of messages")


def store(document, messages):
    """The document with another list of messages."""
    if isinstance(document, list):
        return messages
    key = next(key for key in ("messages", "input", "contents") if isinstance(document.get(key), list))
    return {**document, key: messages}


def plain_chat(messages):
    """Skips histories that hold more than roles, texts and function calls: an adapter could not carry it over."""
    for message in messages:
        known = {"role", "content", "tool_calls", "tool_call_id", "name"}
        calls = message.get("tool_calls") or []
        if set(message) - known or message.get("role") not in ("system", "user", "assistant", "tool"):
            raise Skip("the adapter carries roles, texts and function calls only")
        if not isinstance(message.get("content", ""), (str, type(None))):
            raise Skip("the adapter carries plain text only")
        for call in calls:
            function = call.get("function", {})
            if call.get("type") != "function" or not isinstance(function.get("arguments"), str):
                raise Skip("the adapter carries function calls only")
    return messages


def chat_call(id, name, arguments):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def only(question, tracks, profiles):
    if question["track"] not in tracks or question["profile"] not in profiles:
        raise Skip("not a task of this engine")


def serve(package, answer):
    """Answers questions until stdin ends. What a library prints goes to stderr."""
    out, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    engine = f"{package} {importlib.metadata.version(package)}"
    for line in sys.stdin:
        question = json.loads(line)
        reply = {"id": question["id"], "engine": engine}
        try:
            reply.update(answer(question))
        except Skip as why:
            reply["skip"] = str(why)
        except Exception as error:  # An engine that refuses has refused.
            reply["error"] = f"{type(error).__name__}: {error}"[:300]
        out.write(json.dumps(reply) + "\n")
        out.flush()
