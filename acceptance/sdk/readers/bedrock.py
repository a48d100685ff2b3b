"""Converse, read by botocore."""

import io
import json

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.validate import ParamValidator

from . import normal
from .transport import pieces

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


class Raw:
    """What botocore wants of a connection: everything, or one piece after the other."""

    def __init__(self, body, size):
        self.body, self.size = io.BytesIO(body), size

    def read(self, *_):
        return self.body.read()

    def stream(self, *_, **__):
        yield from pieces(self.body.read(), self.size)

    def close(self):
        self.body.close()


def response(body, reader, piece):
    failed = "output" not in json.loads(body)
    answer = client(body, piece, 500 if failed else 200, "application/json").converse(**REQUEST)
    del answer["ResponseMetadata"]
    if reader == "strict":
        validate(answer, "ConverseResponse")
    return told(answer)


def stream(body, reader, piece):
    sdk = client(body, piece, 200, "application/vnd.amazon.eventstream")
    events = []
    for event in sdk.converse_stream(**REQUEST)["stream"]:
        if reader == "strict":
            validate(event, "ConverseStreamOutput")
        events.append(event)
    return told_by(events)


def client(body, piece, status, content_type):
    sdk = SESSION.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=SETTINGS,
    )
    headers = {"content-type": content_type}
    sdk.meta.events.register(
        "before-send.bedrock-runtime", lambda request, **_: AWSResponse(request.url, status, headers, Raw(body, piece))
    )
    return sdk


def validate(value, shape):
    """Everything that the service promises is there, and of the right type."""
    model = SESSION.get_service_model("bedrock-runtime").shape_for(shape)
    report = ParamValidator().validate(value, model)
    if report.has_errors():
        raise normal.Disagreement(report.generate_report())


def told(answer):
    """What a whole answer says."""
    content = answer["output"]["message"]["content"]
    text = "".join(spoken(block) for block in content)
    thoughts = [block["reasoningContent"].get("reasoningText", {}) for block in content if "reasoningContent" in block]
    reasoning = "".join(thought.get("text", "") for thought in thoughts)
    uses = [block["toolUse"] for block in content if "toolUse" in block]
    calls = [normal.call(use["toolUseId"], use["name"], use["input"]) for use in uses]
    return normal.reading(text, reasoning, calls, stopped(answer["stopReason"]), used(answer["usage"]), None, None)


def spoken(block):
    """The text of a block. With sources it is a list of texts."""
    cited = block.get("citationsContent", {}).get("content", [])
    return block.get("text", "") + "".join(part["text"] for part in cited)


def told_by(events):
    """What the pieces say. Blocks stand one behind the other, and only closed ones count."""
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
            calls.append(normal.call(use["toolUseId"], use["name"], normal.parsed(arguments or "{}")))
            use = None
        elif kind == "messageStop":
            stop = stopped(value["stopReason"])
        elif kind == "metadata":
            usage = used(value["usage"])
    return normal.reading(text, reasoning, calls, stop, usage, None, None)


def stopped(word):
    return STOPS.get(word, word)


def used(usage):
    cached = usage.get("cacheReadInputTokens", 0) + usage.get("cacheWriteInputTokens", 0)
    return normal.used(usage["inputTokens"] + cached, usage["outputTokens"])
