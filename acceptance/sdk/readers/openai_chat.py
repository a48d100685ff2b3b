"""Chat completions, parsed by the OpenAI SDK."""

from openai import ContentFilterFinishReasonError, LengthFinishReasonError, OpenAI

from . import normal
from .transport import fake_client

REQUEST = {"model": "any", "messages": []}
STOPS = {
    "stop": "end",
    "length": "length",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "refusal",
}


def response(body, reader, chunk_size):
    return summarize(client(body, "response", reader, chunk_size).chat.completions.create(**REQUEST))


def stream(body, reader, chunk_size):
    completions = client(body, "stream", reader, chunk_size).chat.completions
    if reader == "helper":
        with completions.stream(**REQUEST) as events:
            return summarize(helper_result(events))
    return summarize_stream(completions.create(**REQUEST, stream=True))


def client(body, kind, reader, chunk_size):
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=fake_client(body, kind, chunk_size, lambda value: "choices" in value),
        _strict_response_validation=reader == "strict",
    )


def helper_result(events):
    """The result of the stream helper. It raises if the response was cut short, but still holds it."""
    try:
        return events.get_final_completion()
    except (LengthFinishReasonError, ContentFilterFinishReasonError):
        return events.current_completion_snapshot


def summarize(completion):
    """Summarizes a complete chat completion."""
    choice = completion.choices[0]
    message = choice.message
    calls = [read_call(call) for call in message.tool_calls or []]
    reasoning = getattr(message, "reasoning_content", None)
    stop = stop_reason(choice.finish_reason, message.refusal)
    text = (message.content or "") + (message.refusal or "")
    return normal.summary(text, reasoning, calls, stop, token_usage(completion.usage), completion.id, completion.model)


def summarize_stream(chunks):
    """Summarizes chunks, combined by their indexes."""
    text, refusal, reasoning, finish, usage, head = "", "", "", None, None, None
    calls = {}
    for chunk in chunks:
        head = head or chunk
        usage = chunk.usage or usage
        for choice in (choice for choice in chunk.choices if choice.index == 0):
            delta = choice.delta
            text += delta.content or ""
            refusal += delta.refusal or ""
            reasoning += getattr(delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for call_delta in delta.tool_calls or []:
                add(calls.setdefault(call_delta.index, {"id": None, "name": None, "text": ""}), call_delta)
    whole = [finished(calls[index]) for index in sorted(calls)]
    stop = stop_reason(finish, refusal)
    return normal.summary(text + refusal, reasoning, whole, stop, token_usage(usage), head.id, head.model)


def add(call, call_delta):
    custom = getattr(call_delta, "custom", None)
    call["id"] = call_delta.id or call["id"]
    if custom is not None:
        call["custom"] = True
        call["name"] = custom.get("name") or call["name"]
        call["text"] += custom.get("input") or ""
    elif call_delta.function is not None:
        call["name"] = call_delta.function.name or call["name"]
        call["text"] += call_delta.function.arguments or ""


def finished(call):
    arguments = call["text"] if call.get("custom") else normal.parse_arguments(call["text"])
    return normal.call(call["id"], call["name"], arguments)


def read_call(call):
    if call.type == "custom":
        return normal.call(call.id, call.custom.name, call.custom.input)
    return normal.call(call.id, call.function.name, normal.parse_arguments(call.function.arguments))


def stop_reason(finish, refusal):
    if finish is None:
        return None
    return "refusal" if refusal else STOPS.get(finish, finish)


def token_usage(usage):
    return usage and normal.token_usage(usage.prompt_tokens, usage.completion_tokens)
