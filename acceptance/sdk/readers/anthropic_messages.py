"""Messages, read by the SDK of Anthropic."""

from anthropic import Anthropic

from . import normal
from .transport import answering

REQUEST = {"model": "any", "max_tokens": 64, "messages": [{"role": "user", "content": "any"}]}
STOPS = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context",
}


def response(body, reader, piece):
    messages = client(body, "response", reader, piece).messages
    ask = messages.parse if reader == "helper" else messages.create
    return told(ask(**REQUEST))


def stream(body, reader, piece):
    messages = client(body, "stream", reader, piece).messages
    if reader == "helper":
        with messages.stream(**REQUEST) as events:
            return told(events.get_final_message())
    return told_by(messages.create(**REQUEST, stream=True))


def client(body, kind, reader, piece):
    return Anthropic(
        api_key="none",
        max_retries=0,
        http_client=answering(body, kind, piece, lambda value: value["type"] == "message"),
        _strict_response_validation=reader == "strict",
    )


def told(message):
    """What a whole message says."""
    text = "".join(block.text for block in message.content if block.type == "text")
    reasoning = "".join(block.thinking for block in message.content if block.type == "thinking")
    uses = [block for block in message.content if block.type == "tool_use"]
    calls = [normal.call(block.id, block.name, block.input) for block in uses]
    return normal.reading(text, reasoning, calls, stopped(message), used(message.usage), message.id, message.model)


def told_by(events):
    """What the pieces say. Blocks stand one behind the other, and only closed ones count."""
    head, stop, ended, output, open_block = None, None, False, None, None
    text, reasoning, calls, blocks = "", "", [], 0
    for event in events:
        if event.type == "message_start":
            head, output = event.message, event.message.usage
        elif event.type == "content_block_start":
            normal.agree("an open block", open_block, None)
            blocks = normal.agree("index", event.index, blocks) + 1
            open_block, arguments = event.content_block, ""
        elif event.type == "content_block_delta":
            normal.agree("index", event.index, blocks - 1)
            text += getattr(event.delta, "text", None) or ""
            reasoning += getattr(event.delta, "thinking", None) or ""
            arguments += getattr(event.delta, "partial_json", None) or ""
        elif event.type == "content_block_stop":
            normal.agree("index", event.index, blocks - 1)
            if open_block.type == "tool_use":
                calls.append(normal.call(open_block.id, open_block.name, normal.parsed(arguments or "{}")))
            open_block = None
        elif event.type == "message_delta":
            stop, output = event.delta, merged(output, event.usage)
        elif event.type == "message_stop":
            normal.agree("an open block", open_block, None)
            ended = True
    word = stopped(stop) if ended and stop else None
    return normal.reading(text, reasoning, calls, word, used(output), head.id, head.model)


def merged(usage, newer):
    """Figures of the end replace those of the beginning."""
    known = {name: value for name, value in newer.to_dict().items() if value is not None}
    return usage.model_copy(update=known)


def stopped(message):
    word = message.stop_reason
    return STOPS.get(word, word)


def used(usage):
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return normal.used(usage.input_tokens + cached, usage.output_tokens)
