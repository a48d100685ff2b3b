"""Chat completions, read by the SDK of OpenAI."""

from openai import ContentFilterFinishReasonError, LengthFinishReasonError, OpenAI

from . import normal
from .transport import answering

REQUEST = {"model": "any", "messages": []}
STOPS = {
    "stop": "end",
    "length": "length",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "refusal",
}


def response(body, reader, piece):
    return told(client(body, "response", reader, piece).chat.completions.create(**REQUEST))


def stream(body, reader, piece):
    completions = client(body, "stream", reader, piece).chat.completions
    if reader == "helper":
        with completions.stream(**REQUEST) as events:
            return told(helped(events))
    return told_by(completions.create(**REQUEST, stream=True))


def client(body, kind, reader, piece):
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=answering(body, kind, piece, lambda value: "choices" in value),
        _strict_response_validation=reader == "strict",
    )


def helped(events):
    """What the SDK puts together. It raises where the answer is too short to be parsed, and still has it."""
    try:
        return events.get_final_completion()
    except (LengthFinishReasonError, ContentFilterFinishReasonError):
        return events.current_completion_snapshot


def told(completion):
    """What a whole completion says."""
    choice = completion.choices[0]
    message = choice.message
    calls = [called(call) for call in message.tool_calls or []]
    reasoning = getattr(message, "reasoning_content", None)
    stop = stopped(choice.finish_reason, message.refusal)
    text = (message.content or "") + (message.refusal or "")
    return normal.reading(text, reasoning, calls, stop, used(completion.usage), completion.id, completion.model)


def told_by(chunks):
    """What the pieces say, put together by their indexes."""
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
            for piece in delta.tool_calls or []:
                add(calls.setdefault(piece.index, {"id": None, "name": None, "text": ""}), piece)
    whole = [finished(calls[index]) for index in sorted(calls)]
    stop = stopped(finish, refusal)
    return normal.reading(text + refusal, reasoning, whole, stop, used(usage), head.id, head.model)


def add(call, piece):
    custom = getattr(piece, "custom", None)
    call["id"] = piece.id or call["id"]
    if custom is not None:
        call["custom"] = True
        call["name"] = custom.get("name") or call["name"]
        call["text"] += custom.get("input") or ""
    elif piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["text"] += piece.function.arguments or ""


def finished(call):
    arguments = call["text"] if call.get("custom") else normal.parsed(call["text"])
    return normal.call(call["id"], call["name"], arguments)


def called(call):
    if call.type == "custom":
        return normal.call(call.id, call.custom.name, call.custom.input)
    return normal.call(call.id, call.function.name, normal.parsed(call.function.arguments))


def stopped(finish, refusal):
    if finish is None:
        return None
    return "refusal" if refusal else STOPS.get(finish, finish)


def used(usage):
    return usage and normal.used(usage.prompt_tokens, usage.completion_tokens)
