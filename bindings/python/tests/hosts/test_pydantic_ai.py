"""Pydantic AI. It repairs some histories itself; these are some that it refuses, sends as they are, or shortens."""

import unittest

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from foxwedge.integrations.pydantic_ai import repair_history
from support import HostTest, example


def call(number=1):
    return ModelResponse(parts=[TextPart("wait"), ToolCallPart("weather", {}, tool_call_id=f"call_{number}")])


def result(number=1):
    return ToolReturnPart("weather", {"sun": True}, tool_call_id=f"call_{number}")


def user(text):
    return UserPromptPart(text)


def repeated_result():
    return [
        ModelRequest(parts=[SystemPromptPart("s"), user("Paris?")]),
        call(),
        ModelRequest(parts=[result()]),
        ModelResponse(parts=[TextPart("Sunny")]),
        ModelRequest(parts=[result(), user("Hello?")]),
        ModelResponse(parts=[TextPart("Yes?")]),
    ]


class Agents(HostTest):
    def setUp(self):
        super().setUp()
        client = AsyncOpenAI(api_key="k", base_url=self.base_url, max_retries=0, timeout=60)
        self.model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))

    def test_without_the_processor_the_provider_refuses(self):
        with self.assertRaises(ModelHTTPError):
            Agent(self.model).run_sync("Well?", message_history=repeated_result())
        self.assert_refused()

    def test_the_example_of_the_readme_repairs_a_history(self):
        names = {"model": self.model}
        exec(example("Pydantic AI"), names)
        self.assertEqual(names["agent"].run_sync("Well?", message_history=repeated_result()).output, "fine")
        self.last()

    def test_a_history_that_ends_with_a_call_can_go_on(self):
        history = [ModelRequest(parts=[user("Paris?")]), call()]
        agent = Agent(self.model)
        with self.assertRaises(UserError):
            agent.run_sync("Hello?", message_history=history)
        self.assertEqual(self.server.received, [])
        agent.run_sync("Hello?", message_history=repair_history(history))
        self.assertEqual([message["role"] for message in self.last()["messages"]], ["user", "assistant", "tool", "user"])

    def test_a_result_without_its_call_keeps_its_content(self):
        history = [ModelRequest(parts=[user("Paris?")]), ModelResponse(parts=[TextPart("?")]), ModelRequest(parts=[result(9), user("x")])]
        repaired = repair_history(history)
        self.assertIs(repaired[0], history[0])
        self.assertIs(repaired[1], history[1])
        texts = [str(part.content) for message in repaired[2:] for part in message.parts]
        self.assertTrue(any("sun" in text for text in texts), texts)
        Agent(self.model).run_sync("Well?", message_history=repaired)
        self.assertIn("sun", str(self.last()["messages"]))

    def test_untouched_messages_and_parts_are_the_same_objects(self):
        valid = [*repeated_result()[:4], ModelRequest(parts=[user("q")]), call(2), ModelRequest(parts=[result(2)])]
        self.assertIs(repair_history(valid), valid)
        broken = [*valid[:2], ModelRequest(parts=[user("Hello?")]), *valid[3:]]
        repaired = repair_history(broken)
        self.assertEqual(len(repaired), len(broken) + 1)
        placeholder = repaired[2].parts[0]
        self.assertEqual((placeholder.tool_name, placeholder.tool_call_id), ("weather", "call_1"))
        for at, message in enumerate(repaired):
            if at != 2:
                self.assertIs(message, broken[at if at < 2 else at - 1])


if __name__ == "__main__":
    unittest.main()
