"""Responses, parsed by the OpenAI SDK."""

from openai import OpenAI

from . import normal
from .transport import fake_client

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


def response(body, reader, chunk_size):
    responses = client(body, "response", reader, chunk_size).responses
    create = responses.parse if reader == "helper" else responses.create
    return summarize(create(**REQUEST))


def stream(body, reader, chunk_size):
    responses = client(body, "stream", reader, chunk_size).responses
    if reader == "helper":
        with responses.stream(**REQUEST) as events:
            return helper_result(events)
    return summarize_stream(responses.create(**REQUEST, stream=True))


def client(body, kind, reader, chunk_size):
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=fake_client(body, kind, chunk_size, lambda value: "output" in value),
        _strict_response_validation=reader == "strict",
    )


def helper_result(events):
    """The result of the stream helper. It returns complete responses only; others come as events."""
    for event in events:
        fail(event)
        if event.type == "response.incomplete":
            return summarize(event.response)
    return summarize(events.get_final_response())


def summarize(response):
    """Summarizes a complete response."""
    if response.status == "failed":
        raise normal.Failed(response.error.message)
    text, refusal, reasoning, calls = "", "", "", []
    for item in response.output:
        if item.type == "message":
            text += "".join(part.text for part in item.content if part.type == "output_text")
            refusal += "".join(part.refusal for part in item.content if part.type == "refusal")
        elif item.type == "reasoning":
            reasoning += "".join(part.text for part in item.summary or item.content or [])
        elif item.type in CALLS:
            calls.append(read_call(item))
    stop = stop_reason(response, calls, refusal)
    usage = token_usage(response.usage)
    return normal.summary(text + refusal, reasoning, calls, stop, usage, response.id, response.model)


def summarize_stream(events):
    """Summarizes stream events. Deltas, items and the last event must agree."""
    head, last, items = None, None, {}
    deltas = {"text": {}, "reasoning": {}, "arguments": {}}
    expected = 0
    for event in events:
        fail(event)
        expected = normal.agree("sequence_number", event.sequence_number, expected) + 1
        if event.type == "response.created":
            head = event.response
        elif event.type in DELTAS:
            kind = deltas[DELTAS[event.type]]
            kind[event.output_index] = kind.get(event.output_index, "") + event.delta
        elif event.type == "response.output_item.done":
            items[event.output_index] = event.item
        elif event.type in ENDS:
            last = event.response
    snapshot = head.model_copy(update={"output": [items[index] for index in sorted(items)]})
    if last is None:
        return {**summarize(snapshot), "stop": None}
    whole, by_items = summarize(last), summarize(snapshot)
    normal.agree("head", (head.id, head.model), (last.id, last.model))
    normal.agree("calls", whole["calls"], by_items["calls"])
    arguments = [text for _, text in sorted(deltas["arguments"].items())]
    normal.agree("arguments", [raw_arguments(call) for call in calls_with_arguments(last)], arguments)
    for kind in ("text", "reasoning"):
        normal.agree(kind, whole[kind], by_items[kind], "".join(text for _, text in sorted(deltas[kind].items())))
    return whole


def fail(event):
    if event.type == "error":
        raise normal.Failed(event.message)
    if event.type == "response.failed":
        raise normal.Failed(event.response.error.message)


def calls_with_arguments(response):
    """The calls with arguments, which arrive in deltas."""
    return [item for item in response.output if item.type in CALLS and raw_arguments(item)]


def raw_arguments(item):
    return item.input if item.type == "custom_tool_call" else item.arguments


def read_call(item):
    arguments = item.input if item.type == "custom_tool_call" else normal.parse_arguments(item.arguments)
    return normal.call(item.call_id, item.name, arguments)


def stop_reason(response, calls, refusal):
    if response.status == "completed":
        return "refusal" if refusal else "calls" if calls else "end"
    if response.status != "incomplete":
        return None
    reason = response.incomplete_details.reason
    return {"max_output_tokens": "length", "content_filter": "refusal"}.get(reason, reason)


def token_usage(usage):
    return usage and normal.token_usage(usage.input_tokens, usage.output_tokens)
