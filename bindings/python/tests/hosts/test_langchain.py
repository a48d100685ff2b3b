"""LangChain agents and LangGraph graphs."""

import asyncio
import unittest

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import BadRequestError

from foxwedge.integrations.langchain import RepairMiddleware, pre_model_hook, repair_messages, repair_state
from support import HostTest, example


def call(number):
    return {"name": "weather", "args": {}, "id": f"call_{number}"}


def history():
    return [
        HumanMessage("Paris?", id="1"),
        AIMessage("", tool_calls=[call(1)], id="2"),
        HumanMessage("Hello?", id="3"),
        AIMessage("Yes?", id="4"),
        ToolMessage("sunny", tool_call_id="call_9", id="5"),
        HumanMessage("Well?", id="6"),
    ]


def valid_history():
    return [*history()[:2], ToolMessage("sunny", tool_call_id="call_1", id="7"), HumanMessage("Thanks", id="8")]


@tool
def weather() -> str:
    """The weather."""
    return "sunny"


class Agents(HostTest):
    def setUp(self):
        super().setUp()
        self.model = ChatOpenAI(model="m", api_key="k", base_url=self.base_url, max_retries=0, timeout=60)

    def test_without_the_middleware_the_provider_refuses(self):
        with self.assertRaises(BadRequestError):
            create_agent(self.model, [weather]).invoke({"messages": history()})
        self.assert_refused()

    def test_the_example_of_the_readme_repairs_a_history(self):
        names = {"model": self.model, "tools": [weather]}
        exec(example("LangChain and LangGraph"), names)
        state = names["agent"].invoke({"messages": history()})
        self.assertEqual(state["messages"][-1].content, "fine")
        self.assertEqual([message["role"] for message in self.last()["messages"]][:3], ["user", "assistant", "tool"])
        # The state is the user's: it has the same messages, and the reply.
        self.assertEqual([message.id for message in state["messages"][:6]], list("123456"))
        asyncio.run(asyncio.wait_for(names["agent"].ainvoke({"messages": history()}), 60))
        self.last()

    def test_a_valid_history_is_sent_as_without_the_middleware(self):
        sent = []
        for middleware in ([], [RepairMiddleware()]):
            create_agent(self.model, [weather], middleware=middleware).invoke({"messages": valid_history()})
            sent.append(self.server.received[-1][0])
        self.assertEqual(sent[0], sent[1])

    def test_untouched_messages_are_the_same_objects(self):
        valid, broken = valid_history(), history()
        self.assertIs(repair_messages(valid), valid)
        repaired = repair_messages(broken)
        self.assertIsInstance(repaired[2], ToolMessage)
        self.assertEqual(repaired[2].tool_call_id, "call_1")
        self.assertEqual(len(repaired), 7)
        for at, origin in [(0, 0), (1, 1), (3, 2), (4, 3), (6, 5)]:
            self.assertIs(repaired[at], broken[origin])

    def test_results_inside_a_message_stay_inside(self):
        blocks = [{"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}, {"type": "text", "text": "and?"}]
        together = HumanMessage(blocks, id="9")
        broken = [*history()[:2], together, *history()[3:]]
        repaired = repair_messages(broken)
        self.assertIs(repaired[2], together)
        self.assertEqual(len(repaired), len(broken))

    def test_calls_that_could_not_be_parsed_count(self):
        invalid = {"type": "invalid_tool_call", "name": "weather", "args": "{", "id": "call_1", "error": None}
        messages = [HumanMessage("q"), AIMessage("", invalid_tool_calls=[invalid]), *valid_history()[2:]]
        repaired = repair_messages(messages)
        self.assertTrue(any(message is messages[2] for message in repaired))

    def test_graphs_repair_their_state_or_the_input_of_the_model(self):
        graph = StateGraph(MessagesState)
        graph.add_node("repair", repair_state)
        graph.add_node("model", lambda state: {"messages": self.model.invoke(state["messages"])})
        graph.add_edge(START, "repair")
        graph.add_edge("repair", "model")
        graph.add_edge("model", END)
        state = graph.compile().invoke({"messages": history()})
        self.last()
        self.assertEqual((len(state["messages"]), state["messages"][2].type), (8, "tool"))
        self.assertEqual(repair_state({"messages": valid_history()}), {})
        broken = {"messages": history()}
        self.model.invoke(pre_model_hook(broken)["llm_input_messages"])
        self.last()
        self.assertEqual(len(broken["messages"]), 6)


if __name__ == "__main__":
    unittest.main()
