"""Repaired requests, checked against the types of the official SDKs.

What was in the request before the repair may be wrong in more ways than a repair looks at, so only what the repair
wrote has to fit.
"""

import functools
import json

from pydantic import BaseModel, TypeAdapter, ValidationError

LISTS = {"gemini": "contents", "openai-responses": "input", "gemini-interactions": "input"}


def check(format, repaired, original):
    """The messages that do not fit, each with the reason."""
    repaired, original = json.loads(repaired), json.loads(original)
    known = [it for message in messages(format, original) for it in (message, *blocks(message))]
    known = {json.dumps(it, sort_keys=True) for it in known}
    fit = FITTERS[format]()
    refused, count = [], 0
    for message in messages(format, repaired):
        count += 1
        if json.dumps(message, sort_keys=True) in known:
            continue
        reason = fit(message) and fit(without_known(message, known))
        if reason:
            refused.append(f"{json.dumps(message, ensure_ascii=False)}: {reason}")
    return {"messages": count, "refused": refused}


def messages(format, request):
    listed = request if isinstance(request, list) else request.get(LISTS.get(format, "messages"))
    return [it for it in listed if isinstance(it, dict)] if isinstance(listed, list) else []


def blocks(message):
    lists = [message.get("content"), message.get("parts"), message.get("tool_calls")]
    return [block for it in lists if isinstance(it, list) for block in it]


def without_known(message, known):
    """The message with only the blocks that the repair wrote; nothing if it wrote none of them."""
    if not blocks(message):
        return message
    is_new = lambda block: json.dumps(block, sort_keys=True) not in known
    lists = {key: [it for it in value if is_new(it)] for key, value in message.items() if isinstance(value, list)}
    kept = {key: value for key, value in {**message, **lists}.items() if value != []}
    return kept if blocks(kept) else None


def fits(adapter, message):
    """Why a message does not fit a type; nothing if it does."""
    if message is None:
        return None
    try:
        exhaust(adapter.validate_python(message))
    except ValidationError as error:
        return shortest(error)
    return None


def exhaust(value):
    """Lists of the SDKs' types are checked as they are read."""
    if isinstance(value, (str, bytes, BaseModel)) or value is None:
        return
    inner = value.values() if isinstance(value, dict) else value if hasattr(value, "__iter__") else ()
    for it in inner:
        exhaust(it)


def shortest(error):
    """The errors of the type that fits best."""
    found = {}
    for it in error.errors():
        found.setdefault(it["loc"][0] if it["loc"] else "", []).append(it)
    best = min(found.values(), key=len)
    return "; ".join(f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in best[:3])


@functools.cache
def openai_chat():
    from openai.types.chat import ChatCompletionMessageParam

    return functools.partial(fits, TypeAdapter(ChatCompletionMessageParam))


@functools.cache
def openai_responses():
    from openai.types.responses import ResponseInputItemParam

    adapter = TypeAdapter(ResponseInputItemParam)
    # The type asks for an id, but Codex sends reasoning without one.
    with_id = lambda item: {"id": "", **item} if item.get("type") == "reasoning" else item
    return lambda item: fits(adapter, item and with_id(item))


@functools.cache
def anthropic():
    from anthropic.types.beta import BetaMessageParam

    return functools.partial(fits, TypeAdapter(BetaMessageParam))


@functools.cache
def gemini():
    from google.genai.types import Content

    return functools.partial(fits, TypeAdapter(Content))


@functools.cache
def gemini_interactions():
    from google.genai.interactions import Step

    from .gemini_interactions import check_type

    adapter = TypeAdapter(Step)

    def fit(message):
        try:
            message is None or check_type(adapter.validate_python(message), "strict")
        except (TypeError, ValidationError) as error:
            return str(error)
        return None

    return fit


@functools.cache
def bedrock():
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.validate import ParamValidator

    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    shape = model.operation_model("Converse").input_shape.members["messages"].member

    def fit(message):
        report = message and ParamValidator().validate(message, shape)
        return report.generate_report() if report and report.has_errors() else None

    return fit


FITTERS = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "gemini-interactions": gemini_interactions,
    "bedrock": bedrock,
}
