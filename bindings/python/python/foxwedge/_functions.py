"""The functions of the package, over the one function of the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from ._errors import FoxwedgeError
from ._types import (
    LISTS,
    CheckOptions,
    CheckReport,
    CompactOptions,
    CompactReport,
    ConversionLoss,
    ConvertOptions,
    ConvertReport,
    Document,
    Edit,
    Explanation,
    Finding,
    FixReport,
    Format,
    Losses,
    Replacement,
    ResponseReport,
    RuleSummary,
    StreamReport,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Record = TypeVar("Record")

NESTED = {
    "findings": Finding,
    "edits": Edit,
    "renamed": Replacement,
    "renamedTools": Replacement,
}
"""The classes of the entries of lists in reports. Entries of `losses` are conversion losses."""


def check(history: Any, **options: Unpack[CheckOptions]) -> CheckReport:
    """What is wrong with a request, a list of messages or a session file."""
    report, _ = run("check", history, named(options, CheckOptions))
    return record(CheckReport, report)


def fix(history: Document, **options: Unpack[CheckOptions]) -> FixReport[Document]:
    """A valid history. Where nothing was wrong, it is the same list with the same objects."""
    report, document = change("fix", history, named(options, CheckOptions))
    return record(FixReport, report, document=document)


def compact(history: Document, *, max_tokens: int, **options: Unpack[CompactOptions]) -> CompactReport[Document]:
    """A shorter history, in which every call keeps its result. Four bytes count as one token."""
    settings = {"maxTokens": max_tokens, **named(options, CompactOptions)}
    report, document = change("compact", history, settings)
    return record(CompactReport, report, document=document)


def convert(
    history: Any, *, to: Format, from_format: Format | None = None, **options: Unpack[ConvertOptions]
) -> ConvertReport:
    """A request or a list of messages in another format."""
    settings = {"to": to, "from": from_format, **named(options, ConvertOptions)}
    report, document = run("convert", history, settings)
    return record(ConvertReport, report, document=written(history, document))


def convert_response(body: Any, *, from_format: Format, to: Format, model: str | None = None) -> ResponseReport:
    """A response body in another format."""
    report, document = run("convert-response", body, {"from": from_format, "to": to, "model": model})
    return record(ResponseReport, report, document=written(body, document))


def explain(text: str) -> Explanation:
    """What an error text of a provider means, and what helps."""
    return record(Explanation, run("explain", str(text), {})[0])


def rules() -> list[RuleSummary]:
    """Every rule."""
    return [record(RuleSummary, rule) for rule in run("rules", b"", {})[0]["rules"]]


class StreamConverter:
    """Converts a stream: push what arrives, send on what it returns, and finish.

    `seed` makes generated ids unique; `created` is the time of replies without one, in Unix seconds.
    """

    def __init__(
        self,
        *,
        from_format: Format,
        to: Format,
        model: str | None = None,
        seed: str | None = None,
        created: int | None = None,
    ) -> None:
        options = {"from": from_format, "to": to, "model": model, "seed": seed, "created": created}
        self._stream = _native.NativeStream(_native.to_json(options))

    def push(self, piece: str | bytes | bytearray | memoryview) -> bytes:
        """Converts the next piece, and returns what can be sent on."""
        if not isinstance(piece, (str, bytes, bytearray, memoryview)):
            raise FoxwedgeError("unreadable", f"a piece of a stream is text or bytes, not `{type(piece).__name__}`")
        return self._stream.push(plain(piece))

    def finish(self) -> StreamReport:
        """Ends the stream."""
        report, rest = self._stream.finish()
        return record(StreamReport, json.loads(report), rest=rest)

    def close(self) -> None:
        """Forgets a stream that is not to be finished."""
        self._stream.close()

    def __enter__(self) -> StreamConverter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(operation: str, document: Any, options: Mapping[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    """The report, and the new document if there is one."""
    report, new = _native.call(operation, plain(document), _native.to_json(dict(options)))
    return json.loads(report), new


def change(operation: str, history: Any, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The report, and the new history in the form of the old one, or the old one itself if nothing changed."""
    if isinstance(history, (str, bytes, bytearray, memoryview)):
        report, document = run(operation, history, options)
        return report, history if document is None else written(history, document)
    text, changes, document = _native.call_changes(operation, history, _native.to_json(dict(options)))
    if changes is not None:
        return json.loads(text), with_changes(history, json.loads(changes))
    return json.loads(text), history if document is None else json.loads(document)


def named(options: Mapping[str, Any], known: type) -> dict[str, Any]:
    """Options under the names that the engine has for them."""
    names = known.__annotations__
    for name in options:
        if name not in names:
            raise FoxwedgeError("invalid-options", f"no option `{name}`; known are {', '.join(names)}")
    return {camel_case(name): value for name, value in options.items()}


def plain(document: Any) -> Any:
    return bytes(document) if isinstance(document, (bytearray, memoryview)) else document


def with_changes(history: Any, changes: Mapping[str, Any]) -> Any:
    """The history with changes. What did not change is the same object."""
    key = changes["key"]
    old = history if key is None else history[key]
    new: list[Any] = []
    for item in changes["items"]:
        # A list stands for old messages, from one to before another.
        new.extend(old[item[0] : item[1]] if isinstance(item, list) else [item])
    if key is None:
        return new
    kept = {name: value for name, value in history.items() if name not in changes["removed"]}
    return {**kept, **changes["fields"], key: new}


def written(history: Any, document: bytes | None) -> Any:
    """A document in the form of the input: text, bytes, or objects."""
    data = document or b""
    if isinstance(history, str):
        return data.decode()
    if isinstance(history, (bytes, bytearray, memoryview)):
        return data
    return json.loads(data)


def record(kind: type[Record], report: Mapping[str, Any], **more: Any) -> Record:
    """A report as an object of its class. What the class does not know is left out."""
    known = field_names(kind)  # type: ignore[arg-type]
    values = {snake_case(name): entries(name, value) for name, value in report.items()}
    return kind(**{name: value for name, value in values.items() if name in known}, **more)


def entries(name: str, value: Any) -> Any:
    if name == "losses":
        if isinstance(value, dict):
            return record(Losses, value)
        return [record(ConversionLoss, entry) for entry in value]
    kind = NESTED.get(name)
    return value if kind is None else [record(kind, entry) for entry in value]


@cache
def field_names(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


@cache
def snake_case(name: str) -> str:
    name = {"from": "source", "to": "target"}.get(name, name)
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)
