"""LiteLLM: repairs the messages of every request, in the proxy and in `litellm.acompletion`.

    litellm.callbacks = [RepairCallback()]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

from .._functions import fix

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._types import RepairOptions


class RepairCallback(CustomLogger):
    """Repairs `messages`. `litellm.completion` calls no hook: give it `fix(messages).messages`."""

    def __init__(self, **options: Unpack[RepairOptions]) -> None:
        super().__init__()
        self.options = options

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any) -> Any:
        """The proxy, before a deployment is chosen."""
        return self._repaired(data, call_type)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> Any:
        """The library, and the proxy after a deployment was chosen."""
        return self._repaired(kwargs, call_type)

    def _repaired(self, data: dict[str, Any], call_type: Any) -> dict[str, Any]:
        form: Any = FORMATS.get(getattr(call_type, "value", call_type))
        messages = data.get("messages")
        if form is None or not isinstance(messages, list) or not messages:
            return data
        fixed = fix(messages, format=form, **self.options)
        return {**data, "messages": fixed.messages} if fixed.changed else data


FORMATS = {
    "completion": "openai-chat",
    "acompletion": "openai-chat",
    "anthropic_messages": "anthropic",
}
"""The kinds of calls whose messages are a history."""
