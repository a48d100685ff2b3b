"""Official SDKs read streams with faulty tool calls: directly, and as the gateway repaired them.

    python3 heal.py < JOBS

A job is a line `{"endpoint", "kind", "from", "to", "provider", "gateway", "token"}`: the streams of these numbers, read at
the provider and at the gateway. Its result is a line `{"unreadable", "repaired", "same", "failures"}`: how many streams
the SDK cannot read directly, how many of those it reads behind the gateway, how many streams have the same bytes there,
and the first ones that it cannot read.
"""

import faulthandler
import json
import sys

# No bytecode files beside the scripts.
sys.dont_write_bytecode = True

import httpx
from anthropic import Anthropic
from openai import OpenAI

from faulty import make_calls

# The time limit of the whole process, in seconds.
TOTAL_TIMEOUT = 300
# How many failures are described.
SHOWN = 3

TOOL = {"type": "function", "function": {"name": "tool_0", "parameters": {"type": "object"}}}
ASK = [{"role": "user", "content": "look"}]


class Reader:
    """The SDKs at one address."""

    def __init__(self, address, token):
        self.address, self.token = f"http://{address}", token
        self.http = httpx.Client(timeout=20)
        self.openai = OpenAI(base_url=f"{self.address}/v1", api_key=token, max_retries=0)
        self.anthropic = Anthropic(base_url=self.address, auth_token=token, max_retries=0)

    def chat(self, model):
        with self.openai.chat.completions.stream(model=model, messages=ASK, tools=[TOOL]) as events:
            message = events.get_final_completion().choices[0].message
        return [(call.id, call.function.name, [call.function.arguments]) for call in message.tool_calls]

    def responses(self, model):
        wholes = {}
        with self.openai.responses.stream(model=model, input=ASK, store=False) as events:
            for event in events:
                if event.type == "response.function_call_arguments.done":
                    wholes.setdefault(event.output_index, []).append(event.arguments)
            output = events.get_final_response().output
        return [(item.call_id, item.name, [item.arguments, *wholes[at]]) for at, item in enumerate(output)]

    def messages(self, model):
        texts = {}
        with self.anthropic.messages.stream(model=model, messages=ASK, max_tokens=99) as events:
            for event in events:
                if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    texts[event.index] = texts.get(event.index, "") + event.delta.partial_json
            blocks = events.get_final_message().content
        calls = []
        for at, block in enumerate(blocks):
            # What the SDK assembled, and what it assembled it from.
            calls.append((block.id, block.name, [json.dumps(block.input), texts.get(at) or "{}"]))
        return calls

    def raw(self, endpoint, model):
        path = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}[endpoint]
        field = "input" if endpoint == "responses" else "messages"
        body = {"model": model, "stream": True, field: ASK, **({"max_tokens": 99} if endpoint == "messages" else {})}
        headers = {"authorization": f"Bearer {self.token}"}
        return self.http.post(self.address + path, json=body, headers=headers).content


def why_unreadable(reader, endpoint, model):
    """Why the calls of a stream cannot be run; `None` if they can."""
    try:
        calls = getattr(reader, endpoint)(model)
        ids = [call[0] for call in calls]
        count = len(make_calls(*model.split("-")[1:]))
        if len(calls) != count or not all(ids) or len(set(ids)) != count:
            return f"{count} calls, ids {ids}"
        for _, name, texts in calls:
            values = [json.loads(text) for text in texts]
            if not name or not isinstance(values[0], dict) or any(it != values[0] for it in values):
                return f"name {name}, arguments {texts}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run(job):
    report = {"unreadable": 0, "repaired": 0, "same": 0, "failures": []}
    provider, gateway = (Reader(job[name], job["token"]) for name in ("provider", "gateway"))
    endpoint, kind = job["endpoint"], job["kind"]
    for number in range(job["from"], job["to"]):
        model = f"{'claude' if endpoint == 'messages' else 'openai'}-{kind}-{number}"
        if kind == "valid":
            report["same"] += provider.raw(endpoint, model) == gateway.raw(endpoint, model)
        direct = why_unreadable(provider, endpoint, model)
        if direct is None and kind == "faulty":
            continue
        healed = why_unreadable(gateway, endpoint, model)
        report["unreadable"] += direct is not None
        report["repaired"] += healed is None and direct is not None
        if healed is not None and len(report["failures"]) < SHOWN:
            report["failures"].append(f"{model}: {healed[:300]} (directly: {str(direct)[:200]})")
    return report


def main():
    faulthandler.dump_traceback_later(TOTAL_TIMEOUT, exit=True)
    sys.stdin.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
