"""Responses, read by the SDK of OpenAI."""

from openai import OpenAI

from . import normal
from .transport import answering

REQUEST = {"model": "any", "input": "any"}
CALLS = ("function_call", "custom_tool_call")
ENDS = ("response.completed", "response.incomplete", "response.failed")
DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}


def response(body, reader, piece):
    responses = client(body, "response", reader, piece).responses
    ask = responses.parse if reader == "helper" else responses.create
    return told(ask(**REQUEST))


def stream(body, reader, piece):
    responses = client(body, "stream", reader, piece).responses
    if reader == "helper":
        with responses.stream(**REQUEST) as events:
            return helped(events)
    return told_by(responses.create(**REQUEST, stream=True))


def client(body, kind, reader, piece):
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=answering(body, kind, piece, lambda value: "output" in value),
        _strict_response_validation=reader == "strict",
    )


def helped(events):
    """What the SDK puts together. It knows complete answers only; others come as events."""
    for event in events:
        fail(event)
        if event.type == "response.incomplete":
            return told(event.response)
    return told(events.get_final_response())


def told(answer):
    """What a whole answer says."""
    if answer.status == "failed":
        raise normal.Failed(answer.error.message)
    text, refusal, reasoning, calls = "", "", "", []
    for item in answer.output:
        if item.type == "message":
            text += "".join(part.text for part in item.content if part.type == "output_text")
            refusal += "".join(part.refusal for part in item.content if part.type == "refusal")
        elif item.type == "reasoning":
            reasoning += "".join(part.text for part in item.summary or item.content or [])
        elif item.type in CALLS:
            calls.append(called(item))
    stop = stopped(answer, calls, refusal)
    return normal.reading(text + refusal, reasoning, calls, stop, used(answer.usage), answer.id, answer.model)


def told_by(events):
    """What the events say: the pieces, the items and the last event must tell the same."""
    head, last, items = None, None, {}
    pieces = {"text": {}, "reasoning": {}, "arguments": {}}
    expected = 0
    for event in events:
        fail(event)
        expected = normal.agree("sequence_number", event.sequence_number, expected) + 1
        if event.type == "response.created":
            head = event.response
        elif event.type in DELTAS:
            kind = pieces[DELTAS[event.type]]
            kind[event.output_index] = kind.get(event.output_index, "") + event.delta
        elif event.type == "response.output_item.done":
            items[event.output_index] = event.item
        elif event.type in ENDS:
            last = event.response
    snapshot = head.model_copy(update={"output": [items[index] for index in sorted(items)]})
    if last is None:
        return {**told(snapshot), "stop": None}
    whole, by_items = told(last), told(snapshot)
    normal.agree("head", (head.id, head.model), (last.id, last.model))
    normal.agree("calls", whole["calls"], by_items["calls"])
    arguments = [text for _, text in sorted(pieces["arguments"].items())]
    normal.agree("arguments", [said(call) for call in spoken(last)], arguments)
    for kind in ("text", "reasoning"):
        normal.agree(kind, whole[kind], by_items[kind], "".join(text for _, text in sorted(pieces[kind].items())))
    return whole


def fail(event):
    if event.type == "error":
        raise normal.Failed(event.message)
    if event.type == "response.failed":
        raise normal.Failed(event.response.error.message)


def spoken(answer):
    """The calls whose arguments come in pieces."""
    return [item for item in answer.output if item.type in CALLS and said(item)]


def said(item):
    return item.input if item.type == "custom_tool_call" else item.arguments


def called(item):
    arguments = item.input if item.type == "custom_tool_call" else normal.parsed(item.arguments)
    return normal.call(item.call_id, item.name, arguments)


def stopped(answer, calls, refusal):
    if answer.status == "completed":
        return "refusal" if refusal else "calls" if calls else "end"
    if answer.status != "incomplete":
        return None
    reason = answer.incomplete_details.reason
    return {"max_output_tokens": "length", "content_filter": "refusal"}.get(reason, reason)


def used(usage):
    return usage and normal.used(usage.input_tokens, usage.output_tokens)
