"""LangChain and LangGraph: repairs messages before the model is called.

    agent = create_agent(model, tools, middleware=[RepairMiddleware()])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages, convert_to_openai_messages

from .._functions import fix

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError:  # LangGraph does not need LangChain's agents.
    AgentMiddleware = object  # type: ignore[assignment, misc]

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._types import RepairOptions


class RepairMiddleware(AgentMiddleware):  # type: ignore[misc, type-arg]
    """Gives the model a valid history. The state of the agent stays as it is."""

    def __init__(self, **options: Unpack[RepairOptions]) -> None:
        super().__init__()
        self.options = options

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._repaired(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._repaired(request))

    def _repaired(self, request: Any) -> Any:
        messages = repair_messages(request.messages, **self.options)
        return request if messages is request.messages else request.override(messages=messages)


def repair_messages(messages: Sequence[BaseMessage], **options: Unpack[RepairOptions]) -> Any:
    """A valid list of messages. Those that were valid are the same objects, and so is a valid list."""
    groups = [wire_messages(message) for message in messages]
    flat = [wire for group in groups for wire in group]
    fixed = fix(flat, format="openai-chat", **options)
    if not fixed.changed:
        return messages
    left = {id(wire): at for at, wire in enumerate(fixed.messages)}
    # A message that became several is the same only if they are still together.
    intact: dict[int, BaseMessage] = {}
    skipped = set()
    for message, group in zip(messages, groups):
        places = [left.get(id(wire), -1) for wire in group]
        if places and places[0] >= 0 and places == list(range(places[0], places[0] + len(places))):
            intact[places[0]] = message
            skipped.update(places[1:])
    result: list[BaseMessage] = []
    for at, wire in enumerate(fixed.messages):
        if at in intact:
            result.append(intact[at])
        elif at not in skipped:
            result.extend(convert_to_messages([wire]))
    return result


def repair_state(state: Any, **options: Unpack[RepairOptions]) -> dict[str, Any]:
    """A node of a graph: the update that repairs its `messages` for good; empty if they are valid."""
    from langchain_core.messages import RemoveMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    messages = repair_messages(state["messages"], **options)
    if messages is state["messages"]:
        return {}
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]}


def pre_model_hook(state: Any) -> dict[str, Any]:
    """The `pre_model_hook` of prebuilt agents: the model gets a valid history, the state stays."""
    return {"llm_input_messages": repair_messages(state["messages"])}


def wire_messages(message: BaseMessage) -> list[dict[str, Any]]:
    """A message as its framework would send it; results inside a message become messages."""
    group = convert_to_openai_messages([message], include_id=True)
    if isinstance(message, AIMessage) and message.invalid_tool_calls and group:
        # Clients send these, too.
        calls = [
            {"type": "function", "id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}}
            for call in message.invalid_tool_calls
        ]
        group[0]["tool_calls"] = [*group[0].get("tool_calls", []), *calls]
    # The providers of such messages read results first.
    return sorted(group, key=lambda wire: wire["role"] != "tool")
