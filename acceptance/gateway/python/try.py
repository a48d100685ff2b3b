"""Runs Python clients against a gateway, and prints their results.

    python3 try.py < JOBS

A job is a line `{"client", "face", "task", "model", "stream", "mark", "base", "token"}`. The client is a module of
`clients/`, the face is the endpoint (chat, responses or messages), the mark makes the conversation unique, and the task
is one of

    talk     two tool calls in one response, both results, the next response, and a second question
    think    the same, with a model that reasons before it calls
    broken   a history with a call without a result and a result without a call
    say      one question
    models   the list of models
    count    the token count of a question
    threads  a conversation that the client asks the server to keep

Each job prints one line, in order: `{"texts", "calls", "replies", "error"}`, where `replies` are the HTTP responses
that the client got, with the headers of the gateway.
"""

import asyncio
import faulthandler
import importlib
import json
import logging
import sys
import threading

# No bytecode files beside the scripts.
sys.dont_write_bytecode = True

from seat import ClientContext

# The time limit of one task, in seconds.
TASK_TIMEOUT = 15
# The time limit of the whole process, in seconds.
TOTAL_TIMEOUT = 150


def main():
    faulthandler.dump_traceback_later(TOTAL_TIMEOUT, exit=True)
    # Expected failures are not logged.
    logging.disable(logging.CRITICAL)
    # Always UTF-8, whatever the locale.
    sys.stdin.reconfigure(encoding="utf-8")
    out, sys.stdout = sys.stdout, sys.stderr
    out.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        print(json.dumps(run_with_timeout(json.loads(line)), ensure_ascii=False), file=out, flush=True)


def run_with_timeout(job):
    """Runs a job in its own thread, since not every client accepts a timeout."""
    reports = []
    thread = threading.Thread(target=lambda: reports.append(run_job(job)), daemon=True)
    thread.start()
    thread.join(TASK_TIMEOUT)
    timeout = {"kinds": [], "status": None, "told": f"no result within {TASK_TIMEOUT} s"}
    return reports[0] if reports else {"error": timeout}


def run_job(job):
    context = ClientContext(job)
    report = {"texts": [], "calls": context.calls, "replies": context.replies, "error": None}
    try:
        name = "talk" if job["task"] == "think" else job["task"]
        task = getattr(importlib.import_module(f"clients.{job['client']}"), name)
        texts = task(context)
        report["texts"] = asyncio.run(texts) if asyncio.iscoroutine(texts) else texts
    except BaseException as error:
        report["error"] = describe_error(error)
    return report


def describe_error(error):
    """An error with all names by which a program could catch it, most specific first."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, Exception)]
    status = getattr(error, "status_code", getattr(error, "code", None))
    return {"kinds": kinds, "status": status, "told": str(error)[:400]}


if __name__ == "__main__":
    main()
