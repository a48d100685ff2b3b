"""OpenAI Agents SDK: repairs the input of every model call, or what a session returns.

    Runner.run(agent, "Hello", run_config=RunConfig(call_model_input_filter=repair_input))

Not for `previous_response_id` and `conversation_id`: there the server has the calls that results belong to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._functions import fix

if TYPE_CHECKING:
    from agents.run import CallModelData, ModelInputData
    from typing_extensions import Unpack

    from .._types import RepairOptions


def repair_input(data: CallModelData[Any]) -> ModelInputData:
    """A `call_model_input_filter`."""
    from agents.run import ModelInputData

    fixed = fix(data.model_data.input, format="openai-responses")
    if not fixed.changed:
        return data.model_data
    return ModelInputData(input=fixed.messages, instructions=data.model_data.instructions)


class RepairedSession:
    """A session whose items are valid whenever they are read. What it stores stays as it is."""

    def __init__(self, session: Any, **options: Unpack[RepairOptions]) -> None:
        self.session = session
        self.options = options

    async def get_items(self, limit: int | None = None) -> list[Any]:
        items = await self.session.get_items(limit)
        return fix(items, format="openai-responses", **self.options).messages if items else items

    async def add_items(self, items: list[Any]) -> None:
        await self.session.add_items(items)

    async def pop_item(self) -> Any:
        return await self.session.pop_item()

    async def clear_session(self) -> None:
        await self.session.clear_session()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)
