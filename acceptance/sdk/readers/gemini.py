"""Generated content, read by the SDK of Google."""

import logging
import ssl

import httpx2
from google import genai
from google.genai import types

from . import normal
from .transport import answering

STOPS = {"STOP": "end", "MAX_TOKENS": "length"}
REFUSALS = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")

ASYNC_CLIENT = httpx2.AsyncClient(transport=httpx2.MockTransport(None))
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# It warns about parts that are no text.
logging.getLogger("google_genai").setLevel(logging.ERROR)


def response(body, reader, piece):
    sdk = client(body, "response", piece)
    if reader == "helper":
        chat = sdk.chats.create(model="any")
        return told([chat.send_message("any")], chat)
    return told([sdk.models.generate_content(model="any", contents="any")])


def stream(body, reader, piece):
    sdk = client(body, "stream", piece)
    if reader == "helper":
        chat = sdk.chats.create(model="any")
        return told(list(chat.send_message_stream("any")), chat)
    return told(list(sdk.models.generate_content_stream(model="any", contents="any")))


def client(body, kind, piece):
    options = types.HttpOptions(
        httpx_client=answering(body, kind, piece, lambda value: "error" not in value),
        # Never used; but those that the SDK makes otherwise take longer than all the reading.
        httpx_async_client=ASYNC_CLIENT,
        async_client_args={"ssl": CONTEXT},
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key="none", http_options=options)


def told(chunks, chat=None):
    """What the chunks say; of a chat, what it keeps as its history."""
    finish, usage = None, None
    for chunk in chunks:
        usage = chunk.usage_metadata or usage
        finish = (chunk.prompt_feedback and chunk.prompt_feedback.block_reason) or finish
        for candidate in chunk.candidates or []:
            finish = candidate.finish_reason or finish
    text, reasoning, calls = spoken(parts_of(chunks) if chat is None else kept(chat))
    head = chunks[0]
    stop = stopped(finish, calls)
    return normal.reading(text, reasoning, calls, stop, used(usage), head.response_id, head.model_version)


def parts_of(chunks):
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
    contents = [candidate.content for candidate in candidates if candidate.content]
    return [part for content in contents for part in content.parts or []]


def kept(chat):
    model = [content for content in chat.get_history() if content.role == "model"]
    return [part for content in model for part in content.parts or []]


def spoken(parts):
    text = "".join(part.text for part in parts if part.text and not part.thought)
    reasoning = "".join(part.text for part in parts if part.text and part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    return text, reasoning, [normal.call(call.id, call.name, call.args or {}) for call in calls]


def stopped(finish, calls):
    if finish is None:
        return None
    word = finish.value
    if word == "STOP" and calls:
        return "calls"
    return "refusal" if word in REFUSALS else STOPS.get(word, word)


def used(usage):
    if usage is None:
        return None
    output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return normal.used(usage.prompt_token_count, output)
