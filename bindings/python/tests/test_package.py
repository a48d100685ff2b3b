"""The package as a program sees it: lists, requests, texts and bytes."""

import json
import pickle
import sys
import threading
import unittest

import foxwedge
from foxwedge import FoxwedgeError, StreamConverter, check, compact, convert, convert_response, explain, fix, rules, sessions

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
EVENTS = (
    'data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n'
    'data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


def poisoned():
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": "well?"},
    ]


class Histories(unittest.TestCase):
    def test_a_finding_names_its_message_its_call_and_its_rule(self):
        report = check(poisoned())
        self.assertFalse(report.valid)
        finding = report.findings[0]
        self.assertEqual((finding.code, finding.rule, finding.index, finding.ids), ("FW101", "unanswered-call", 1, ["a"]))

    def test_untouched_messages_are_the_same_objects(self):
        before = poisoned()
        fixed = fix(before)
        self.assertEqual((fixed.changed, fixed.valid, fixed.edits[0].code), (True, True, "FW101"))
        self.assertEqual(fixed.losses.placeholders_written, 1)
        self.assertEqual([message["role"] for message in fixed.messages], ["user", "assistant", "tool", "user"])
        for at, origin in [(0, 0), (1, 1), (3, 2)]:
            self.assertIs(fixed.messages[at], before[origin])
        self.assertEqual(before, poisoned())

    def test_equal_messages_keep_their_order(self):
        twice = {"role": "user", "content": "again"}
        before = [dict(twice), *poisoned(), dict(twice), dict(twice)]
        fixed = fix(before).messages
        kept = [message for message in fixed if message.get("content") == "again"]
        self.assertEqual([id(message) for message in kept], [id(before[0]), id(before[4]), id(before[5])])

    def test_numbers_that_are_equal_but_not_the_same_are_told_apart(self):
        before = [{"role": "user", "content": "q", "x": 1}, {"role": "user", "content": "q", "x": 1.0}]
        before += [{"role": "user", "content": "q", "x": True}, *poisoned()]
        fixed = fix(before).messages
        self.assertEqual([id(message) for message in fixed[:3]], [id(message) for message in before[:3]])

    def test_where_nothing_is_wrong_the_same_list_comes_back(self):
        messages = fix(poisoned()).messages
        again = fix(messages)
        self.assertFalse(again.changed)
        self.assertIs(again.messages, messages)
        request = {"model": "gpt-4o", "messages": messages}
        self.assertIs(fix(request).document, request)

    def test_requests_texts_and_bytes_come_back_as_what_they_were(self):
        request = {"model": "gpt-4o", "temperature": 0.5, "tools": [], "messages": poisoned()}
        fixed = fix(request)
        self.assertEqual(fixed.document["temperature"], 0.5)
        self.assertIs(fixed.document["tools"], request["tools"])
        self.assertIs(fixed.messages[0], request["messages"][0])
        text = json.dumps(request, indent=2)
        self.assertTrue(fix(text).document.startswith('{\n  "model": "gpt-4o"'))
        self.assertEqual(fix(text.encode()).document, fix(text).document.encode())
        self.assertEqual(fix(bytearray(text.encode())).document, fix(text).document.encode())
        self.assertEqual(fix(memoryview(text.encode())).document, fix(text).document.encode())
        with self.assertRaises(FoxwedgeError):
            fix(text).messages

    def test_options_are_keywords(self):
        self.assertEqual(len(fix(poisoned(), unanswered="drop-call").messages), 2)
        self.assertTrue(check(poisoned(), ignore=["unanswered-call"]).valid)
        self.assertTrue(check(poisoned(), ignore=("FW101",)).valid)
        chinese = fix(poisoned(), language="zh").messages[2]["content"]
        self.assertFalse(chinese.isascii())

    def test_messages_are_converted_and_compacted(self):
        converted = convert(poisoned(), to="anthropic")
        self.assertEqual(converted.messages[1]["content"][0]["type"], "tool_use")
        self.assertEqual((converted.source, converted.target, converted.losses), ("openai-chat", "anthropic", []))
        response = {"id": "r", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]}
        gemini = convert_response(response, from_format="openai-chat", to="gemini")
        self.assertEqual(gemini.document["candidates"][0]["content"]["parts"][0]["text"], "Hi")
        long = [{"role": "assistant" if at % 2 else "user", "content": f"{at} " + "word " * 40} for at in range(60)]
        long.append({"role": "user", "content": "and now?"})
        short = compact(long, max_tokens=900)
        self.assertTrue(short.changed and short.tokens_after <= 900 < short.tokens_before)
        self.assertIs(short.messages[-1], long[-1])
        self.assertEqual(len(short.removed), len(set(short.removed)))

    def test_rules_and_error_texts_are_explained(self):
        self.assertIn("FW101", [rule.code for rule in rules()])
        error = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        self.assertEqual(explain(error).code, "FW101")
        self.assertFalse(explain("a quiet day").known)

    def test_a_session_file_is_read_and_fixed(self):
        head = {"sessionId": "s", "version": "2.1.0", "cwd": "/tmp", "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": False}
        call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
        lines = [
            {**head, "type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "go"}},
            {
                **head,
                "type": "assistant",
                "uuid": "2",
                "parentUuid": "1",
                "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [call]},
            },
            {**head, "type": "user", "uuid": "3", "parentUuid": "2", "message": {"role": "user", "content": "well?"}},
        ]
        file = "".join(json.dumps(line) + "\n" for line in lines)
        session = sessions.read(file)
        self.assertEqual((session.agent, session.format, session.message_count), ("claude-code", "anthropic", 3))
        self.assertEqual(len(session.history), 3)
        fixed = sessions.fix(file, for_api=True)
        self.assertTrue(fixed.changed and fixed.valid)
        self.assertIn("tool_result", fixed.document)
        self.assertEqual(sessions.fix(fixed.document.encode(), for_api=True).changed, False)


class Streams(unittest.TestCase):
    def test_a_stream_is_converted_piece_by_piece(self):
        whole = None
        for size in (1, 7, len(EVENTS)):
            converter = StreamConverter(from_format="openai-chat", to="anthropic")
            out = b"".join(converter.push(EVENTS[at : at + size]) for at in range(0, len(EVENTS), size))
            end = converter.finish()
            self.assertTrue(end.complete and not end.failed)
            self.assertEqual(end.messages, [{"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}])
            whole = whole or out + end.rest
            self.assertEqual(out + end.rest, whole)
        self.assertIn(b"message_stop", whole)

    def test_an_ended_stream_takes_nothing_more(self):
        with StreamConverter(from_format="openai-chat", to="gemini") as converter:
            converter.push(EVENTS.encode())
        with self.assertRaises(FoxwedgeError) as caught:
            converter.push("x")
        self.assertEqual(caught.exception.kind, "unknown-stream")
        with self.assertRaises(FoxwedgeError):
            StreamConverter(from_format="openai-chat", to="morse")


class Threads(unittest.TestCase):
    def test_other_threads_run_while_the_engine_works(self):
        # With this interval a thread gives the interpreter to another one only where it lets go of it, and
        # between `start` and the end of the call there is no such place but the call itself.
        document = json.dumps(poisoned() * 5_000).encode()
        start, ran = threading.Event(), []
        interval = sys.getswitchinterval()
        other = threading.Thread(target=lambda: (start.wait(), ran.append(True)), daemon=True)
        other.start()
        sys.setswitchinterval(3600)
        try:
            start.set()
            during = False
            # The other thread may be slow to wake.
            for _ in range(50):
                foxwedge._native.call("check", document, "{}")
                during = bool(ran)
                if during:
                    break
        finally:
            sys.setswitchinterval(interval)
        self.assertTrue(during)
        other.join(60)

    def test_errors_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(FoxwedgeError("unreadable", "torn", 7)))
        self.assertEqual((error.kind, error.message, error.at, str(error)), ("unreadable", "torn", 7, "torn"))


if __name__ == "__main__":
    unittest.main()
