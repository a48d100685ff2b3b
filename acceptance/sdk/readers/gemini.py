"""Generated content, parsed by the Google SDK."""

import logging
import ssl

import httpx2
from google import genai
from google.genai import types

from . import normal
from .transport import fake_client

STOPS = {"STOP": "end", "MAX_TOKENS": "length"}
REFUSALS = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")

ASYNC_CLIENT = httpx2.AsyncClient(transport=httpx2.MockTransport(None))
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# It warns about parts that are not text.
logging.getLogger("google_genai").setLevel(logging.ERROR)


def response(body, reader, chunk_size):
    sdk = client(body, "response", chunk_size)
    if reader == "helper":
        chat = sdk.chats.create(model="any")
        return summarize([chat.send_message("any")], chat)
    return summarize([sdk.models.generate_content(model="any", contents="any")])


def stream(body, reader, chunk_size):
    sdk = client(body, "stream", chunk_size)
    if reader == "helper":
        chat = sdk.chats.create(model="any")
        return summarize(list(chat.send_message_stream("any")), chat)
    return summarize(list(sdk.models.generate_content_stream(model="any", contents="any")))


def client(body, kind, chunk_size):
    options = types.HttpOptions(
        httpx_client=fake_client(body, kind, chunk_size, lambda value: "error" not in value),
        # Never used, but without it the SDK creates its own, which is slow.
        httpx_async_client=ASYNC_CLIENT,
        async_client_args={"ssl": CONTEXT},
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key="none", http_options=options)


def summarize(chunks, chat=None):
    """Summarizes chunks; for a chat, its history."""
    finish, usage = None, None
    for chunk in chunks:
        usage = chunk.usage_metadata or usage
        finish = (chunk.prompt_feedback and chunk.prompt_feedback.block_reason) or finish
        for candidate in chunk.candidates or []:
            finish = candidate.finish_reason or finish
    text, reasoning, calls = split_parts(parts_of(chunks) if chat is None else model_history(chat))
    head = chunks[0]
    stop = stop_reason(finish, calls)
    return normal.summary(text, reasoning, calls, stop, token_usage(usage), head.response_id, head.model_version)


def parts_of(chunks):
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
    contents = [candidate.content for candidate in candidates if candidate.content]
    return [part for content in contents for part in content.parts or []]


def model_history(chat):
    model = [content for content in chat.get_history() if content.role == "model"]
    return [part for content in model for part in content.parts or []]


def split_parts(parts):
    text = "".join(part.text for part in parts if part.text and not part.thought)
    reasoning = "".join(part.text for part in parts if part.text and part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    return text, reasoning, [normal.call(call.id, call.name, call.args or {}) for call in calls]


def stop_reason(finish, calls):
    if finish is None:
        return None
    reason = finish.value
    if reason == "STOP" and calls:
        return "calls"
    return "refusal" if reason in REFUSALS else STOPS.get(reason, reason)


def token_usage(usage):
    if usage is None:
        return None
    output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return normal.token_usage(usage.prompt_token_count, output)
