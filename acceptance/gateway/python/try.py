"""Lets Python clients talk to a gateway, and prints what they got.

    python3 try.py < JOBS

A job is a line `{"client", "face", "task", "model", "stream", "mark", "base", "token"}`. The client is a module of
`clients/`, the face is chat, responses or messages, the mark makes a conversation unlike all others, and the task is
one of

    talk     two tools called in one reply, both answered, the reply to that, and a second question
    think    the same, by a model that thinks before it calls
    broken   a history with a call that nobody answered and an answer that nobody asked for
    say      one question
    models   the list of models
    count    how many tokens a question has
    threads  a conversation that the client would like to keep on the server

Each job answers with one line in its order: `{"texts", "calls", "replies", "error"}`, where `replies` are the HTTP
replies that the client got, with the headers of the gateway.
"""

import asyncio
import faulthandler
import importlib
import json
import logging
import sys
import threading

# Nothing is left beside the scripts, wherever they are run.
sys.dont_write_bytecode = True

from seat import Seat

# A client that waits longer for one task waits for ever.
PATIENCE = 15
# All of it: whoever waits for this process does not wait longer.
LONGEST = 150


def main():
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    # What goes wrong on purpose need not be logged.
    logging.disable(logging.CRITICAL)
    # Not whatever the machine was set up for.
    sys.stdin.reconfigure(encoding="utf-8")
    out, sys.stdout = sys.stdout, sys.stderr
    out.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        print(json.dumps(bounded(json.loads(line)), ensure_ascii=False), file=out, flush=True)


def bounded(job):
    """A thread of its own, since not every client takes a time limit."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(answer(job)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return answers[0] if answers else {"error": {"kinds": [], "status": None, "told": f"nothing for {PATIENCE} s"}}


def answer(job):
    seat = Seat(job)
    facts = {"texts": [], "calls": seat.calls, "replies": seat.replies, "error": None}
    try:
        name = "talk" if job["task"] == "think" else job["task"]
        task = getattr(importlib.import_module(f"clients.{job['client']}"), name)
        texts = task(seat)
        facts["texts"] = asyncio.run(texts) if asyncio.iscoroutine(texts) else texts
    except BaseException as error:
        facts["error"] = told(error)
    return facts


def told(error):
    """An error by all names by which a program could catch it, the nearest first."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, Exception)]
    return {"kinds": kinds, "status": getattr(error, "status_code", None), "told": str(error)[:400]}


if __name__ == "__main__":
    main()
