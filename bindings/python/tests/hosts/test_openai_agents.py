"""The OpenAI Agents SDK: the filter of the input, and sessions."""

import asyncio
import unittest

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, set_tracing_disabled
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI, BadRequestError

from foxwedge.integrations.openai_agents import RepairedSession, repair_input
from support import HostTest, example


def history():
    return [
        {"role": "user", "content": "Paris?"},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
        {"role": "user", "content": "Hello?"},
        {"type": "function_call_output", "call_id": "call_9", "output": "sunny"},
    ]


def valid_history():
    return [*history()[:2], {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]


class Agents(HostTest):
    def setUp(self):
        super().setUp()
        set_tracing_disabled(True)

    def run_agent(self, make_run):
        async def run():
            async with AsyncOpenAI(api_key="k", base_url=self.base_url, max_retries=0, timeout=60) as client:
                agent = Agent(name="a", model=OpenAIResponsesModel(model="m", openai_client=client))
                return await make_run(agent)

        return asyncio.run(asyncio.wait_for(run(), 60))

    def test_without_the_filter_the_provider_refuses(self):
        with self.assertRaises(BadRequestError):
            self.run_agent(lambda agent: Runner.run(agent, history()))
        self.assert_refused()

    def test_the_example_of_the_readme_repairs_the_input(self):
        async def run(agent):
            names = {"agent": agent, "history": history()}
            exec("async def example():\n" + indented(example("OpenAI Agents SDK")) + "\n    return result", names)
            return await names["example"]()

        self.assertEqual(self.run_agent(run).final_output, "fine")
        kinds = [item.get("type", "message") for item in self.last()["input"]]
        self.assertEqual(kinds[:3], ["message", "function_call", "function_call_output"])

    def test_valid_input_is_the_same_object(self):
        for items, same in [(valid_history(), True), (history(), False)]:
            data = ModelInputData(input=items, instructions="be kind")
            result = repair_input(CallModelData(model_data=data, agent=None, context=None))
            self.assertEqual(result is data, same)
            self.assertEqual(result.instructions, "be kind")
            self.assertTrue(all(item in result.input for item in items[:3]))
            self.assertIs(result.input[0], items[0])

    def test_a_session_with_lost_results_goes_on(self):
        async def run(agent, wrap):
            session = SQLiteSession("s")
            await session.add_items(history())
            try:
                result = await Runner.run(agent, "Well?", session=RepairedSession(session) if wrap else session)
                return result, await session.get_items()
            finally:
                session.close()

        with self.assertRaises(BadRequestError):
            self.run_agent(lambda agent: run(agent, False))
        result, stored = self.run_agent(lambda agent: run(agent, True))
        self.assertEqual(result.final_output, "fine")
        self.last()
        self.assertEqual(stored[:4], history())


def indented(code):
    return "".join(f"    {line}\n" for line in code.splitlines())


if __name__ == "__main__":
    unittest.main()
