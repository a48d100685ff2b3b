"""The transports, under every SDK that is installed."""

import asyncio
import importlib
import importlib.util
import json
import unittest

from foxwedge.integrations.httpx import AsyncRepairTransport, RepairTransport
from support import HostTest, chat_history, example, valid_chat_history

CLIENTS = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
# What the installed SDKs are built on.
CLIENT = importlib.import_module(CLIENTS[-1])
import openai  # noqa: E402

ANTHROPIC_HISTORY = [
    {"role": "user", "content": "Paris?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]},
    {"role": "user", "content": "Hello?"},
]
RESPONSES_HISTORY = [
    {"role": "user", "content": "Paris?"},
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_9", "output": "sunny"},
]


class Transports(HostTest):
    def openai_client(self, transport=None):
        client = CLIENT.Client(transport=transport, verify=False)
        self.addCleanup(client.close)
        return openai.OpenAI(api_key="k", base_url=self.base_url, http_client=client, max_retries=0, timeout=60)

    def test_without_the_transport_the_provider_refuses(self):
        with self.assertRaises(openai.BadRequestError):
            self.openai_client().chat.completions.create(model="m", messages=chat_history())
        self.assert_refused()

    def test_the_example_of_the_readme_repairs_a_request(self):
        if CLIENT.__name__ == "httpx":
            self.skipTest("the example is for the newer SDK, which is installed elsewhere")
        names = {"base_url": self.base_url, "messages": chat_history()}
        exec(example("httpx"), names)
        self.assertEqual(names["reply"].choices[0].message.content, "fine")
        self.last()

    def test_chat_and_responses_requests_are_repaired(self):
        client = self.openai_client(RepairTransport(CLIENT.HTTPTransport(verify=False)))
        client.chat.completions.create(model="m", messages=chat_history())
        self.assertEqual(self.last()["messages"][2]["role"], "tool")
        client.responses.create(model="m", input=RESPONSES_HISTORY)
        self.assertEqual(len(self.last()["input"]), 4)

    def test_a_valid_request_is_sent_byte_for_byte(self):
        bodies = []
        for transport in (None, RepairTransport(CLIENT.HTTPTransport(verify=False))):
            self.openai_client(transport).chat.completions.create(model="m", messages=valid_chat_history())
            bodies.append(self.server.received[-1][0])
        self.assertEqual(bodies[0], bodies[1])

    def test_asynchronous_clients_are_guarded(self):
        async def run():
            transport = AsyncRepairTransport(CLIENT.AsyncHTTPTransport(verify=False))
            async with CLIENT.AsyncClient(transport=transport) as http:
                client = openai.AsyncOpenAI(api_key="k", base_url=self.base_url, http_client=http, max_retries=0)
                return await client.chat.completions.create(model="m", messages=chat_history())

        asyncio.run(asyncio.wait_for(run(), 60))
        self.last()

    @unittest.skipUnless(importlib.util.find_spec("anthropic"), "the SDK is installed elsewhere")
    def test_anthropic_requests_are_repaired(self):
        import anthropic

        with CLIENT.Client(transport=RepairTransport(CLIENT.HTTPTransport(verify=False))) as http:
            client = anthropic.Anthropic(api_key="k", base_url=self.host, http_client=http, max_retries=0)
            client.messages.create(model="m", max_tokens=9, messages=ANTHROPIC_HISTORY)
        self.assertEqual(self.last()["messages"][2]["content"][0]["type"], "tool_result")

    def test_every_httpx_works_and_other_requests_pass_as_they_are(self):
        body = b'{"messages": [torn'
        for name in CLIENTS:
            module = importlib.import_module(name)
            seen = []

            def answer(request, seen=seen, module=module):
                seen.append((request.content, request.headers["content-length"], request.headers["x-mine"]))
                return module.Response(200)

            transport = RepairTransport(module.MockTransport(answer))
            with self.subTest(name), module.Client(transport=transport, headers={"x-mine": "1"}) as client:
                broken = json.dumps({"model": "m", "messages": chat_history()}).encode()
                for path, content in [("/v1/chat/completions", body), ("/v1/files", broken)]:
                    client.post(f"http://127.0.0.1{path}", content=content)
                    self.assertEqual(seen[-1], (content, str(len(content)), "1"))
                client.post("http://127.0.0.1/v1/chat/completions?a=b", content=broken)
                repaired, length, _ = seen[-1]
                self.assertNotEqual(repaired, broken)
                self.assertEqual(length, str(len(repaired)))
                self.assertEqual(client.get("http://127.0.0.1/x", headers={"content-length": "0"}).status_code, 200)


if __name__ == "__main__":
    unittest.main()
