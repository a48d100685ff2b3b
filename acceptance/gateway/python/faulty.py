"""A provider whose streams have faulty tool calls, as providers were seen to send them.

    python3 faulty.py

It prints its address and serves until it is ended. The name of the model says what it sends: `MAKER-faulty-NUMBER` or
`MAKER-valid-NUMBER`. The same name always gets the same stream.
"""

import http.server
import json
import random
import sys

TEXTS = ["", "ls -la", "it's, \"so\"", "two\nlines\\", "\U0001f98a caf\u00e9", '{"a":[1,}']
USAGE = {"input_tokens": 7, "output_tokens": 9}


def value(numbers, depth):
    choice = numbers.randrange(7 if depth else 5)
    if choice == 5:
        return [value(numbers, depth - 1) for _ in range(numbers.randrange(4))]
    if choice == 6:
        return arguments(numbers, depth - 1)
    return [None, numbers.random() < 0.5, numbers.randrange(-999, 999), numbers.randrange(999) / 8, numbers.choice(TEXTS)][choice]


def arguments(numbers, depth):
    return {f"k{at}": value(numbers, depth) for at in range(numbers.randrange(4))}


def make_calls(kind, number):
    numbers = random.Random(f"{kind} {number}")
    calls = []
    for at in range(numbers.randrange(1, 4)):
        text = json.dumps(arguments(numbers, 3), indent=2 if numbers.random() < 0.3 else None, ensure_ascii=False)
        calls.append({"id": f"call_{number}_{at}", "name": f"tool_{at}", "text": text})
    if kind == "faulty":
        damage(numbers, calls)
    for call in calls:
        size = numbers.randrange(1, 12)
        call["fragments"] = [call["text"][at : at + size] for at in range(0, len(call["text"]), size)]
    return calls


def damage(numbers, calls):
    call = numbers.choice(calls)
    text = call["text"]
    fault = numbers.randrange(11)
    if fault == 0:
        call["id"] = None
    elif fault == 1:
        call["name"] = None
    elif fault == 2:
        call["id"] = numbers.choice(calls)["id"]
    else:
        call["text"] = [
            lambda: text[: numbers.randrange(max(len(text), 1))],
            lambda: text.replace("}", ",}", 1),
            lambda: text.replace('"', "'"),
            lambda: text.replace("true", "True").replace("null", "None"),
            lambda: text.replace("\\n", "\n"),
            lambda: text + text,
            lambda: f"```json\n{text}\n```",
            lambda: text.replace(",", " ", 1),
        ][fault - 3]()


def chat(model, calls):
    def chunk(delta, end=None):
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return "", {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}

    yield chunk({"role": "assistant", "content": "Looking, then"})
    for index, call in enumerate(calls):
        start = {"index": index, "type": "function", "function": {"arguments": ""}}
        if call["id"]:
            start["id"] = call["id"]
        if call["name"]:
            start["function"]["name"] = call["name"]
        yield chunk({"tool_calls": [start]})
        for fragment in call["fragments"]:
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]})
    yield chunk({}, "tool_calls")
    yield "", None


def messages(model, calls):
    def event(kind, **fields):
        return kind, {"type": kind, **fields}

    message = {"id": "m", "type": "message", "role": "assistant", "model": model, "content": []}
    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": USAGE})
    for index, call in enumerate(calls):
        block = {"type": "tool_use", "input": {}}
        block.update({key: call[key] for key in ("id", "name") if call[key]})
        yield event("content_block_start", index=index, content_block=block)
        yield event("ping")
        for fragment in call["fragments"]:
            delta = {"type": "input_json_delta", "partial_json": fragment}
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage=USAGE)
    yield event("message_stop")


def responses(model, calls):
    number = -1

    def event(kind, **fields):
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **fields}

    response = {"id": "r", "object": "response", "created_at": 1, "model": model, "parallel_tool_calls": True}
    response |= {"tool_choice": "auto", "tools": [], "output": [], "error": None, "incomplete_details": None}
    yield event("response.created", response={**response, "status": "in_progress"})
    output = []
    for index, call in enumerate(calls):
        item = {"type": "function_call", "id": f"fc_{index}", "arguments": ""}
        item.update({key: call[field] for key, field in (("call_id", "id"), ("name", "name")) if call[field]})
        place = {"output_index": index, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        for fragment in call["fragments"]:
            yield event("response.function_call_arguments.delta", **place, delta=fragment)
        named = {"name": call["name"]} if call["name"] else {}
        yield event("response.function_call_arguments.done", **place, **named, arguments=call["text"])
        item = {**item, "arguments": call["text"], "status": "completed"}
        yield event("response.output_item.done", output_index=index, item=item)
        output.append(item)
    yield event("response.completed", response={**response, "status": "completed", "output": output})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, kind, number = body["model"].split("-")
        writer = {"completions": chat, "messages": messages, "responses": responses}[self.path.split("/")[-1]]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in writer(body["model"], make_calls(kind, number)):
            text = "[DONE]" if data is None else json.dumps(data, ensure_ascii=False)
            self.chunk((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
        self.chunk("")

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # SDKs close connections that they do not need.
    server.handle_error = lambda *_: None
    print(f"127.0.0.1:{server.server_port}", flush=True)
    sys.stdout.close()
    server.serve_forever()
