"""The result of an SDK, in one form for all of them.

`usage.input` counts all input tokens, cached or not; `usage.output` all output tokens, including reasoning. `stop` is
`None` if the SDK does not report that the response is complete.
"""

import json


class Disagreement(Exception):
    """Two parts of a stream contradict each other."""


class Failed(Exception):
    """The provider failed during the stream, and the SDK reports that as an event."""


def summary(text, reasoning, calls, stop, usage, id, model):
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


def token_usage(input, output):
    return {"input": input, "output": output}


def parse_arguments(arguments):
    """Parses arguments; returns the text if it is not JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def agree(what, *values):
    """Returns the value if all values are equal."""
    if any(value != values[0] for value in values):
        raise Disagreement(f"{what}: " + " / ".join(repr(value) for value in values))
    return values[0]
