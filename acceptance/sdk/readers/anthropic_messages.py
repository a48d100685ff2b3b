"""Messages, parsed by the Anthropic SDK."""

from anthropic import Anthropic

from . import normal
from .transport import fake_client

REQUEST = {"model": "any", "max_tokens": 64, "messages": [{"role": "user", "content": "any"}]}
STOPS = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context",
}


def response(body, reader, chunk_size):
    messages = client(body, "response", reader, chunk_size).messages
    create = messages.parse if reader == "helper" else messages.create
    return summarize(create(**REQUEST))


def stream(body, reader, chunk_size):
    messages = client(body, "stream", reader, chunk_size).messages
    if reader == "helper":
        with messages.stream(**REQUEST) as events:
            return summarize(events.get_final_message())
    return summarize_stream(messages.create(**REQUEST, stream=True))


def client(body, kind, reader, chunk_size):
    return Anthropic(
        api_key="none",
        max_retries=0,
        http_client=fake_client(body, kind, chunk_size, lambda value: value["type"] == "message"),
        _strict_response_validation=reader == "strict",
    )


def summarize(message):
    """Summarizes a complete message."""
    text = "".join(block.text for block in message.content if block.type == "text")
    reasoning = "".join(block.thinking for block in message.content if block.type == "thinking")
    tool_uses = [block for block in message.content if block.type == "tool_use"]
    calls = [normal.call(block.id, block.name, block.input) for block in tool_uses]
    stop, usage = stop_reason(message), token_usage(message.usage)
    return normal.summary(text, reasoning, calls, stop, usage, message.id, message.model)


def summarize_stream(events):
    """Summarizes stream events. Blocks come one after the other, and only closed ones count."""
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
                calls.append(normal.call(open_block.id, open_block.name, normal.parse_arguments(arguments or "{}")))
            open_block = None
        elif event.type == "message_delta":
            stop, output = event.delta, merge_usage(output, event.usage)
        elif event.type == "message_stop":
            normal.agree("an open block", open_block, None)
            ended = True
    reason = stop_reason(stop) if ended and stop else None
    return normal.summary(text, reasoning, calls, reason, token_usage(output), head.id, head.model)


def merge_usage(usage, newer):
    """Usage at the end replaces usage at the start."""
    known = {name: value for name, value in newer.to_dict().items() if value is not None}
    return usage.model_copy(update=known)


def stop_reason(message):
    reason = message.stop_reason
    return STOPS.get(reason, reason)


def token_usage(usage):
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return normal.token_usage(usage.input_tokens + cached, usage.output_tokens)
