"""Parses response bodies and streams with the official Python SDKs, and prints the results.

    python3 read.py FORMAT KIND FILE [READER [PIECE]]
    python3 read.py < JOBS

FORMAT is openai-chat, openai-responses, anthropic, gemini, gemini-interactions or bedrock; KIND is response or
stream. READER is `plain` (events are taken as they arrive), `strict` (they must also match the SDK's own types) or
`helper` (the SDK combines the deltas itself). PIECE is how many bytes arrive at a time; 0 is all at once.

A job is a line `{"format", "kind", "path", "reader", "piece"}`, or `{"format", "kind": "request", "path", "original"}`
for a repaired request; the latter prints `{"messages", "refused"}`. Each job prints one line, in order:
`{"text", "reasoning", "calls", "stop", "usage", "id", "model"}`, or `{"error"}` if the SDK raised. There is no
network access: every SDK gets a transport that returns the bytes of the file.
"""

import importlib
import json
import sys

# No bytecode files beside the scripts.
sys.dont_write_bytecode = True

from readers import requests

MODULES = {
    "openai-chat": "readers.openai_chat",
    "openai-responses": "readers.openai_responses",
    "anthropic": "readers.anthropic_messages",
    "gemini": "readers.gemini",
    "bedrock": "readers.bedrock",
    "gemini-interactions": "readers.gemini_interactions",
}


def main(args):
    # Always UTF-8, whatever the locale.
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    if args:
        names = ("format", "kind", "path", "reader", "piece")
        jobs = [json.dumps(dict(zip(names, args)))]
    else:
        jobs = sys.stdin
    for line in jobs:
        print(json.dumps(read(json.loads(line)), ensure_ascii=False), flush=True)


def read(job):
    if job["kind"] == "request":
        return requests.check(job["format"], content(job["path"]), content(job["original"]))
    body = content(job["path"])
    reader, piece = job.get("reader", "plain"), int(job.get("piece", 0))
    module = importlib.import_module(MODULES[job["format"]])
    parse = {"response": module.response, "stream": module.stream}[job["kind"]]
    try:
        return parse(body, reader, piece)
    except Exception as error:
        details = describe_validation(error.__cause__) if reader == "strict" else ""
        return {"error": f"{type(error).__name__}: {error}{details}"}


def content(path):
    with open(path, "rb") as file:
        return file.read()


def describe_validation(cause):
    """The validation errors; in a union, only those of the type that matches."""
    errors = cause.errors() if hasattr(cause, "errors") else []
    other_types = {error["loc"][0] for error in errors if error["loc"][1:] == ("type",)}
    relevant = [error for error in errors if error["loc"][0] not in other_types]
    return "".join(f" {'.'.join(map(str, error['loc']))}: {error['msg']};" for error in relevant[:3])


if __name__ == "__main__":
    main(sys.argv[1:])
