"""Lets the official Python SDKs read response bodies and streams, and prints what they understood.

    python3 read.py FORMAT KIND FILE [READER [PIECE]]
    python3 read.py < JOBS

FORMAT is openai-chat, openai-responses, anthropic, gemini or bedrock; KIND is response or stream. READER is
`plain` (what arrives is taken as it comes), `strict` (what arrives must also fit the SDK's own types) or `helper`
(the SDK puts the pieces together itself). PIECE is how many bytes arrive at a time; 0 is all at once.

A job is a line `{"format", "kind", "path", "reader", "piece"}`. Each job answers with one line in its order:
`{"text", "reasoning", "calls", "stop", "usage", "id", "model"}`, or `{"error"}` if the SDK raised. Nothing here
reaches a network: every SDK is given a transport that holds the bytes of the file.
"""

import importlib
import json
import sys

# Nothing is left beside the scripts, wherever they are run.
sys.dont_write_bytecode = True

MODULES = {
    "openai-chat": "readers.openai_chat",
    "openai-responses": "readers.openai_responses",
    "anthropic": "readers.anthropic_messages",
    "gemini": "readers.gemini",
    "bedrock": "readers.bedrock",
}


def main(words):
    # Not whatever the machine was set up for: files, and what is printed, are UTF-8.
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    if words:
        names = ("format", "kind", "path", "reader", "piece")
        jobs = [json.dumps(dict(zip(names, words)))]
    else:
        jobs = sys.stdin
    for line in jobs:
        print(json.dumps(read(json.loads(line)), ensure_ascii=False), flush=True)


def read(job):
    with open(job["path"], "rb") as file:
        body = file.read()
    reader, piece = job.get("reader", "plain"), int(job.get("piece", 0))
    module = importlib.import_module(MODULES[job["format"]])
    reading = {"response": module.response, "stream": module.stream}[job["kind"]]
    try:
        return reading(body, reader, piece)
    except Exception as error:
        misfits = told(error.__cause__) if reader == "strict" else ""
        return {"error": f"{type(error).__name__}: {error}{misfits}"}


def told(cause):
    """What does not fit a type; of many possible types, only those that were meant."""
    errors = cause.errors() if hasattr(cause, "errors") else []
    not_meant = {error["loc"][0] for error in errors if error["loc"][1:] == ("type",)}
    meant = [error for error in errors if error["loc"][0] not in not_meant]
    return "".join(f" {'.'.join(map(str, error['loc']))}: {error['msg']};" for error in meant[:3])


if __name__ == "__main__":
    main(sys.argv[1:])
