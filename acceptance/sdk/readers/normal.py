"""What an SDK understood, in one form for all of them.

`usage.input` counts everything that was read, cached or not; `usage.output` everything that was written, reasoning
included. `stop` is `None` where the SDK does not say that the answer is complete.
"""

import json


class Disagreement(Exception):
    """Two places of one stream tell different things."""


class Failed(Exception):
    """The provider failed in the middle, and the SDK hands that on as an event."""


def reading(text, reasoning, calls, stop, usage, id, model):
    return {
        "text": text or "",
        "reasoning": reasoning or "",
        "calls": calls,
        "stop": stop,
        "usage": usage,
        "id": id,
        "model": model,
    }


def call(id, name, arguments):
    return {"id": id, "name": name, "arguments": arguments}


def used(input, output):
    return {"input": input, "output": output}


def parsed(arguments):
    """Arguments that are a text: what they say, or the text if they are no JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def agree(what, *values):
    """All that a stream says about one thing."""
    if any(value != values[0] for value in values):
        raise Disagreement(f"{what}: " + " / ".join(repr(value) for value in values))
    return values[0]
