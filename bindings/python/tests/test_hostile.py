"""Input that is no conversation: every failure is a typed error, and no input ends the program."""

import json
import random
import unittest
from datetime import datetime

from foxwedge import FoxwedgeError, StreamConverter, check, compact, convert, convert_response, fix, sessions

USER = {"role": "user", "content": "q"}


def circle():
    message = dict(USER)
    message["content"] = [message]
    return [message]


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return [{**USER, "more": value}]


class Mistakes(unittest.TestCase):
    def refused(self, call, kind="unreadable"):
        with self.assertRaises(FoxwedgeError) as caught:
            call()
        self.assertEqual(caught.exception.kind, kind, str(caught.exception))
        return str(caught.exception)

    def test_values_that_are_no_json_are_named_with_their_place(self):
        table = [
            (float("nan"), "`[0].content` is NaN, which is not JSON"),
            (float("inf"), "`[0].content` is inf, which is not JSON"),
            ({1: "x"}, "`[0].content` has the key `1`, which is no text"),
            ({None: "x"}, "`[0].content` has the key `None`, which is no text"),
            ({"a": [0, {1, 2}]}, "`[0].content.a[1]` has the type `set`, which is not JSON"),
            (b"x", "`[0].content` has the type `bytes`, which is not JSON"),
            (datetime(2026, 1, 1), "`[0].content` has the type `datetime`, which is not JSON"),
        ]
        for value, expected in table:
            with self.subTest(expected):
                self.assertEqual(self.refused(lambda: fix([{"role": "user", "content": value}])), expected)
        self.assertEqual(self.refused(lambda: fix(object())), "the input has the type `object`, which is not JSON")

    def test_halves_of_characters_are_repaired(self):
        whole = {**USER, "name": "\U0001f600"}
        fixed = fix([whole, {"role": "user", "content": 'Grüße \ud83d "'}, {**USER, "\udfff": [1]}])
        self.assertTrue(fixed.changed and fixed.valid)
        self.assertIs(fixed.messages[0], whole)
        text = fixed.messages[1]["content"]
        self.assertEqual((text[:6], text[-2:], len(text)), ("Grüße ", ' "', 9))
        text.encode()

    def test_circles_and_deep_values_are_refused(self):
        self.assertIn("contains itself", self.refused(lambda: fix(circle())))
        for levels in (600, 100_000):
            self.assertIn("512 levels", self.refused(lambda: check(deep(levels))))
        self.refused(lambda: check("[" * 1_000_000, format="openai-chat"))
        self.refused(lambda: check(b'{"messages":' * 100_000, format="openai-chat"))
        self.assertEqual(check(deep(400), format="openai-chat").message_count, 1)

    def test_torn_documents_are_refused(self):
        whole = json.dumps([USER, {"role": "user", "content": "Grüße"}], ensure_ascii=False).encode()
        for end in range(len(whole)):
            with self.subTest(end=end):
                self.refused(lambda: check(whole[:end], format="openai-chat"))
        self.refused(lambda: check(whole.replace(b"\xc3", b"\xff"), format="openai-chat"))
        self.refused(lambda: check("\ud83d", format="openai-chat"))
        self.refused(lambda: fix(b'[{"role":"user","content":NaN}]', format="openai-chat"))
        for operation in (convert, compact):
            options = {"to": "gemini"} if operation is convert else {"max_tokens": 10}
            self.refused(lambda: operation(b"\xff", **options))

    def test_wrong_types_and_options_are_refused(self):
        for value in (None, 7, True, 1.5, "", b"", {}, "hello", [1, 2], [None], {"messages": 7}):
            with self.subTest(value=value):
                self.refused(lambda: sessions.read(value) if isinstance(value, str) else check(value), "unknown-format")
        known = [USER]
        for options in ({"formats": "x"}, {"unsafeFixes": True}, {"format": "morse"}, {"format": 7}, {"ignore": ["FW999"]}):
            with self.subTest(options=options):
                self.refused(lambda: fix(known, **options), "invalid-options")
        self.refused(lambda: compact(known, max_tokens="many"), "invalid-options")
        self.refused(lambda: convert(known, to="morse"), "invalid-options")
        self.refused(lambda: convert_response({}, from_format="openai-chat", to="ai-sdk-ui"), "invalid-options")
        self.refused(lambda: fix(known, ignore=[object()]))
        with StreamConverter(from_format="openai-chat", to="anthropic") as converter:
            self.refused(lambda: converter.push(["x"]))

    def test_numbers_of_any_size_are_kept(self):
        class LoudInteger(int):
            def __repr__(self):
                return "loud"

            __str__ = __repr__

        numbers = [0, -1, 2**63, -(2**70), LoudInteger(2**80), LoudInteger(7), 1e300, 5e-324, 0.1, True, None]
        orphan = {"role": "tool", "tool_call_id": "x", "content": "r"}
        before = [{"role": "user", "content": "q", "numbers": numbers}, orphan]
        fixed = fix({"messages": before, "more": numbers, "model": "m"}, format="openai-chat")
        self.assertTrue(fixed.changed)
        self.assertIs(fixed.messages[0], before[0])
        self.assertIs(fixed.document["more"], numbers)

    def test_random_bytes_never_end_the_program(self):
        chance = random.Random(7)
        seed = json.dumps({"model": "m", "messages": [USER, {"role": "assistant", "tool_calls": [{"id": "a"}]}]}).encode()
        for _ in range(3000):
            torn = bytearray(seed)
            for _ in range(chance.randrange(1, 5)):
                torn[chance.randrange(len(torn))] = chance.randrange(256)
            for operation in (check, fix):
                try:
                    operation(bytes(torn), format=chance.choice([None, "openai-chat", "anthropic", "gemini"]))
                except FoxwedgeError as error:
                    self.assertIn(error.kind, ("unreadable", "unknown-format"))


class Properties(unittest.TestCase):
    def test_repaired_histories_are_valid_and_stay_as_they_are(self):
        for seed in range(400):
            history = random_history(random.Random(seed))
            with self.subTest(seed=seed):
                fixed = fix(history, format="openai-chat")
                self.assertTrue(check(fixed.messages, format="openai-chat").valid)
                self.assertEqual(fixed.changed, not check(history, format="openai-chat").valid or fixed.messages is not history)
                again = fix(fixed.messages, format="openai-chat")
                self.assertIs(again.messages, fixed.messages)
                text = json.dumps(history, ensure_ascii=False, separators=(",", ":"))
                self.assertEqual(json.loads(fix(text, format="openai-chat").document), fixed.messages)
                originals = {id(message) for message in history}
                for message in fixed.messages:
                    self.assertTrue(id(message) in originals or message not in history, message)


def random_history(chance):
    messages = [{"role": "user", "content": "q"}]
    for turn in range(chance.randrange(1, 8)):
        ids = [f"c{chance.randrange(6)}" for _ in range(chance.randrange(3))]
        calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in dict.fromkeys(ids)]
        message = {"role": "assistant", "content": f"turn {turn} ü"}
        messages.append({**message, "tool_calls": calls} if calls else message)
        results = [{"role": "tool", "tool_call_id": one, "content": f"r {turn}"} for one in ids if chance.random() < 0.7]
        chance.shuffle(results)
        messages.extend(results)
        if chance.random() < 0.3:
            messages.append({"role": "tool", "tool_call_id": f"c{chance.randrange(9)}", "content": "stray"})
        if chance.random() < 0.6:
            messages.append({"role": "user", "content": f"next {turn}"})
    return messages


if __name__ == "__main__":
    unittest.main()
