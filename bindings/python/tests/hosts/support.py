"""A provider on this machine that refuses histories whose calls and results do not belong together."""

import json
import os
import re
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Nothing here may leave the machine.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

README = Path(__file__).resolve().parents[2] / "README.md"


def example(heading):
    """The code under a heading of the README."""
    section = README.read_text(encoding="utf-8").split(f"\n### {heading}\n", 1)[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def chat_problem(body):
    """Every call is answered by the messages directly behind it, and by nothing else."""
    open_ids = set()
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return f"message {at}: a result without its call"
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"message {at}: calls without results: {sorted(open_ids)}"
        open_ids = {call["id"] for call in message.get("tool_calls") or ()}
    return f"calls without results at the end: {sorted(open_ids)}" if open_ids else None


def responses_problem(body):
    items = body["input"] if isinstance(body["input"], list) else []
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    return None if sorted(calls) == sorted(results) else f"calls {calls}, results {results}"


def anthropic_problem(body):
    open_ids = set()
    for at, message in enumerate(body["messages"]):
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != open_ids:
            return f"message {at}: results {sorted(results)} for calls {sorted(open_ids)}"
        open_ids = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"calls without results at the end: {sorted(open_ids)}" if open_ids else None


CHAT_REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "fine"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
RESPONSES_REPLY = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "fine", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
ANTHROPIC_REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "fine"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
ENDPOINTS = {
    "/v1/chat/completions": (chat_problem, CHAT_REPLY),
    "/v1/responses": (responses_problem, RESPONSES_REPLY),
    "/v1/messages": (anthropic_problem, ANTHROPIC_REPLY),
}


class StrictHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        problem, reply = ENDPOINTS[self.path.split("?")[0]]
        complaint = problem(json.loads(raw))
        self.server.received.append((raw, complaint))
        content = json.dumps(reply if complaint is None else {"error": {"message": complaint, "type": "invalid_request_error"}})
        self.send_response(200 if complaint is None else 400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_):
        pass


class HostTest(unittest.TestCase):
    """Starts a provider for the tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.server = ThreadingHTTPServer(("127.0.0.1", 0), StrictHandler)
        cls.server.received = []
        cls.host = f"http://127.0.0.1:{cls.server.server_port}"
        cls.base_url = f"{cls.host}/v1"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        self.server.received.clear()

    def last(self):
        """The last request, which the provider accepted."""
        raw, complaint = self.server.received[-1]
        self.assertIsNone(complaint)
        return json.loads(raw)

    def assert_refused(self):
        self.assertTrue(self.server.received, "nothing was sent")
        self.assertIsNotNone(self.server.received[-1][1])


def call(number):
    return {"id": f"call_{number}", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


def chat_history():
    """A call without its result, and a result without its call."""
    return [
        {"role": "user", "content": "Paris?"},
        {"role": "assistant", "content": None, "tool_calls": [call(1)]},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "tool", "tool_call_id": "call_9", "content": "sunny"},
        {"role": "user", "content": "Well?"},
    ]


def valid_chat_history():
    return [
        {"role": "user", "content": "Paris?"},
        {"role": "assistant", "content": None, "tool_calls": [call(1)]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        {"role": "user", "content": "Thanks"},
    ]
