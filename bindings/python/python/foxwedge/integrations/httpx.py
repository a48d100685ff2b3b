"""Transports for httpx and httpx2, which repair requests of any SDK before they are sent.

    client = OpenAI(http_client=httpx2.Client(transport=RepairTransport(httpx2.HTTPTransport())))
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .._errors import FoxwedgeError
from .._functions import fix

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._types import CheckOptions

ENDPOINTS = [
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/responses(/compact|/input_tokens)?$"), "openai-responses"),
    (re.compile(r"/messages(/count_tokens)?$"), "anthropic"),
    (re.compile(r":(streamG|g)enerateContent$"), "gemini"),
    (re.compile(r"/converse(-stream)?$"), "bedrock"),
]


def repair_body(path: str, body: bytes, options: CheckOptions) -> bytes:
    """A valid request body. What is no conversation stays as it is: its provider can judge it better."""
    form: Any = next((form for pattern, form in ENDPOINTS if pattern.search(path)), None)
    if form is None or not body:
        return body
    try:
        return fix(body, **{"format": form, **options}).document
    except FoxwedgeError as error:
        if error.kind == "invalid-options":
            raise
        return body


class RepairTransport:
    """Repairs requests, and passes them on to another transport."""

    def __init__(self, transport: Any, **options: Unpack[CheckOptions]) -> None:
        self.transport = transport
        self.options = options

    def handle_request(self, request: Any) -> Any:
        if request.method == "POST":
            request = self._repaired(request, request.read())
        return self.transport.handle_request(request)

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> RepairTransport:
        self.transport.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.transport.__exit__(*error)

    def _repaired(self, request: Any, body: bytes) -> Any:
        new = repair_body(request.url.path, body, self.options)
        if new is body:
            return request
        # The class of the request is that of the installed version of httpx.
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        return type(request)(
            request.method, request.url, headers=headers, content=new, extensions=request.extensions
        )


class AsyncRepairTransport(RepairTransport):
    """The same for asynchronous clients."""

    async def handle_async_request(self, request: Any) -> Any:
        if request.method == "POST":
            request = self._repaired(request, await request.aread())
        return await self.transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self.transport.aclose()

    async def __aenter__(self) -> AsyncRepairTransport:
        await self.transport.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.transport.__aexit__(*error)
