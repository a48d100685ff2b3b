"""LiteLLM: the library, and the hooks of the proxy."""

import asyncio
import unittest

import litellm

from litellm.integrations.custom_logger import CustomLogger

from foxwedge.integrations.litellm import RepairCallback
from support import HostTest, chat_history, example, valid_chat_history


class LosesResults(CustomLogger):
    """Another callback, such as one that shortens histories: it drops the results of calls."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    async def async_pre_call_deployment_hook(self, kwargs, call_type):
        self.log.append([message["role"] for message in kwargs["messages"]])
        return {**kwargs, "messages": [it for it in kwargs["messages"] if it["role"] != "tool"]}


class Callbacks(HostTest):
    def tearDown(self):
        litellm.callbacks = []

    def complete(self, messages):
        async def run():
            settings = {"api_base": self.base_url, "api_key": "k", "max_retries": 0, "timeout": 60}
            return await litellm.acompletion(model="openai/m", messages=messages, **settings)

        return asyncio.run(asyncio.wait_for(run(), 60))

    def test_without_the_callback_the_provider_refuses(self):
        with self.assertRaises(litellm.BadRequestError):
            self.complete(chat_history())
        self.assert_refused()

    def test_the_example_of_the_readme_repairs_a_request(self):
        exec(example("LiteLLM"), {})
        self.assertEqual(self.complete(chat_history()).choices[0].message.content, "fine")
        self.assertEqual(self.last()["messages"][2]["role"], "tool")

    def test_a_valid_request_is_sent_as_without_the_callback(self):
        sent = []
        for callbacks in ([], [RepairCallback()]):
            litellm.callbacks = callbacks
            self.complete(valid_chat_history())
            sent.append(self.server.received[-1][0])
        self.assertEqual(sent[0], sent[1])

    def test_what_earlier_callbacks_break_is_repaired(self):
        seen = []
        litellm.callbacks = [LosesResults(seen), LosesResults(seen), RepairCallback()]
        self.assertEqual(self.complete(valid_chat_history()).choices[0].message.content, "fine")
        # Each one gets what the one before it returned, and ours is the last.
        self.assertIn("tool", seen[0])
        self.assertNotIn("tool", seen[1])
        self.assertEqual(self.last()["messages"][2]["role"], "tool")

    def test_what_a_later_callback_breaks_is_refused(self):
        seen = []
        litellm.callbacks = [RepairCallback(), LosesResults(seen)]
        with self.assertRaises(litellm.BadRequestError):
            self.complete(chat_history())
        self.assertIn("tool", seen[0], "ours ran first")
        self.assert_refused()

    def test_hooks_of_the_proxy_run_before_our_last_one(self):
        """The proxy runs all `async_pre_call_hook`s, then the library runs the deployment hooks."""
        repair, calls = RepairCallback(), []

        class ProxyHook(CustomLogger):
            async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
                calls.append(call_type)
                return {**data, "messages": [it for it in data["messages"] if it["role"] != "tool"]}

        litellm.callbacks = [repair, ProxyHook()]

        async def proxy(data):
            for callback in litellm.callbacks:
                data = await callback.async_pre_call_hook(None, None, data, "completion")
            return data["messages"]

        broken = asyncio.run(proxy({"model": "m", "messages": valid_chat_history()}))
        self.assertNotIn("tool", [message["role"] for message in broken])
        self.assertEqual(self.complete(broken).choices[0].message.content, "fine")
        self.assertEqual(calls, ["completion"])
        self.assertEqual(self.last()["messages"][2]["role"], "tool")

    def test_the_proxy_gets_the_same_objects_where_nothing_is_wrong(self):
        def hook(data, call_type):
            return asyncio.run(RepairCallback().async_pre_call_hook(None, None, data, call_type))

        valid = {"model": "m", "messages": valid_chat_history()}
        self.assertIs(hook(valid, "completion"), valid)
        broken = {"model": "m", "messages": chat_history()}
        repaired = hook(broken, "acompletion")
        self.assertEqual(len(repaired["messages"]), 7)
        self.assertIs(repaired["messages"][0], broken["messages"][0])
        self.assertEqual(broken["messages"], chat_history())
        self.assertIs(hook(broken, "embeddings"), broken)


if __name__ == "__main__":
    unittest.main()
