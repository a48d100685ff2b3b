"""Converse, parsed by botocore."""

import io
import json

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.validate import ParamValidator

from . import normal
from .transport import chunks

REQUEST = {"modelId": "any", "messages": [{"role": "user", "content": [{"text": "any"}]}]}
STOPS = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "content_filtered": "refusal",
    "guardrail_intervened": "refusal",
    "model_context_window_exceeded": "context",
}
SESSION = botocore.session.Session()
SETTINGS = Config(retries={"total_max_attempts": 1})


class RawResponse:
    """The raw response that botocore reads: all at once, or in chunks."""

    def __init__(self, body, size):
        self.body, self.size = io.BytesIO(body), size

    def read(self, *_):
        return self.body.read()

    def stream(self, *_, **__):
        yield from chunks(self.body.read(), self.size)

    def close(self):
        self.body.close()


def response(body, reader, chunk_size):
    is_error = "output" not in json.loads(body)
    result = client(body, chunk_size, 500 if is_error else 200, "application/json").converse(**REQUEST)
    del result["ResponseMetadata"]
    if reader == "strict":
        validate(result, "ConverseResponse")
    return summarize(result)


def stream(body, reader, chunk_size):
    sdk = client(body, chunk_size, 200, "application/vnd.amazon.eventstream")
    events = []
    for event in sdk.converse_stream(**REQUEST)["stream"]:
        if reader == "strict":
            validate(event, "ConverseStreamOutput")
        events.append(event)
    return summarize_stream(events)


def client(body, chunk_size, status, content_type):
    sdk = SESSION.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=SETTINGS,
    )
    headers = {"content-type": content_type}
    sdk.meta.events.register(
        "before-send.bedrock-runtime",
        lambda request, **_: AWSResponse(request.url, status, headers, RawResponse(body, chunk_size)),
    )
    return sdk


def validate(value, shape):
    """Checks that a value has the required members and types of its service shape."""
    model = SESSION.get_service_model("bedrock-runtime").shape_for(shape)
    report = ParamValidator().validate(value, model)
    if report.has_errors():
        raise normal.Disagreement(report.generate_report())


def summarize(result):
    """Summarizes a complete response."""
    content = result["output"]["message"]["content"]
    text = "".join(text_of(block) for block in content)
    thoughts = [block["reasoningContent"].get("reasoningText", {}) for block in content if "reasoningContent" in block]
    reasoning = "".join(thought.get("text", "") for thought in thoughts)
    tool_uses = [block["toolUse"] for block in content if "toolUse" in block]
    calls = [normal.call(use["toolUseId"], use["name"], use["input"]) for use in tool_uses]
    stop, usage = stop_reason(result["stopReason"]), token_usage(result["usage"])
    return normal.summary(text, reasoning, calls, stop, usage, None, None)


def text_of(block):
    """The text of a block. With citations it is a list of texts."""
    cited = block.get("citationsContent", {}).get("content", [])
    return block.get("text", "") + "".join(part["text"] for part in cited)


def summarize_stream(events):
    """Summarizes stream events. Blocks come one after the other, and only closed ones count."""
    text, reasoning, calls, stop, usage = "", "", [], None, None
    block, use, arguments = -1, None, ""
    for event in events:
        (kind, value), = event.items()
        if "contentBlockIndex" in value and value["contentBlockIndex"] != block:
            block = normal.agree("contentBlockIndex", value["contentBlockIndex"], block + 1)
            normal.agree("an open call", use, None)
        if kind == "contentBlockStart":
            use, arguments = value["start"].get("toolUse"), ""
        elif kind == "contentBlockDelta":
            delta = value["delta"]
            text += delta.get("text", "")
            reasoning += delta.get("reasoningContent", {}).get("text", "")
            arguments += delta.get("toolUse", {}).get("input", "")
        elif kind == "contentBlockStop" and use:
            calls.append(normal.call(use["toolUseId"], use["name"], normal.parse_arguments(arguments or "{}")))
            use = None
        elif kind == "messageStop":
            stop = stop_reason(value["stopReason"])
        elif kind == "metadata":
            usage = token_usage(value["usage"])
    return normal.summary(text, reasoning, calls, stop, usage, None, None)


def stop_reason(reason):
    return STOPS.get(reason, reason)


def token_usage(usage):
    cached = usage.get("cacheReadInputTokens", 0) + usage.get("cacheWriteInputTokens", 0)
    return normal.token_usage(usage["inputTokens"] + cached, usage["outputTokens"])
