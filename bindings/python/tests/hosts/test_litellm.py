"""LiteLLM: the library, and the hooks of the proxy."""

import asyncio
import unittest

import litellm

from foxwedge.integrations.litellm import RepairCallback
from support import HostTest, chat_history, example, valid_chat_history


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
