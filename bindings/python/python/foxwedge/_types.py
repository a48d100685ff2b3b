"""Options and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypedDict, TypeVar

from ._errors import FoxwedgeError

Format = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "gemini-interactions",
    "ai-sdk-ui",
    "ai-sdk-model",
]
"""A wire format, or a message list of the AI SDK."""

Profile = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "gemini-interactions",
    "mistral",
    "deepseek",
    "strict",
]
"""Whose rules apply."""

Agent = Literal["claude-code", "codex", "gemini-cli", "neovate", "cline"]
"""Whose session files are read."""

Document = TypeVar("Document")

LISTS = ("messages", "contents", "input")
"""The keys under which a request holds its messages."""


class RepairOptions(TypedDict, total=False):
    """What repairs may do."""

    unanswered: Literal["answer", "drop-turn", "drop-call"]
    """Calls without a result get a placeholder (the default), or go with their message, or alone."""
    orphans: Literal["quote", "drop"]
    """Results without a call become text (the default), or go."""
    tail: Literal["dead", "pending"]
    """Open calls at the end are abandoned (the default) or still running."""
    unsafe_fixes: bool
    """Also fixes that need a decision."""
    language: Literal["en", "zh"]
    """The language of generated texts."""


class CheckOptions(RepairOptions, total=False):
    """Options of `check` and `fix`."""

    format: Format
    """Without it, the document is recognized."""
    profile: Profile
    agent: Agent
    ignore: Sequence[str]
    """Rules that are not checked: `"FW101"` or `"unanswered-call"`."""
    for_api: bool
    """Session files: also what the agent tolerates, because a provider would refuse it."""


class CompactOptions(RepairOptions, total=False):
    """Options of `compact`, beside `max_tokens`."""

    format: Format
    profile: Profile
    ignore: Sequence[str]
    goal_tokens: int
    """What a history is compacted to once it is longer than `max_tokens`."""


class ConvertOptions(RepairOptions, total=False):
    """Options of `convert`, beside `to` and `from_format`."""

    profile: Profile
    tools: Literal["native", "text"]
    """Tool calls as text, for models without tools."""
    model: str


@dataclass(frozen=True)
class Finding:
    """What is wrong at one place."""

    code: str
    rule: str
    severity: Literal["error", "warning"]
    message: str
    index: int
    """The message, counted from 0."""
    start: int
    """Bytes of the document."""
    end: int
    ids: list[str]
    tool: str | None
    fix: Literal["safe", "unsafe"] | None


@dataclass(frozen=True)
class Edit:
    """What a repair did."""

    code: str
    rule: str | None
    strategy: str
    index: int
    """The message of the input, counted from 0."""
    ids: list[str]
    reason: str


@dataclass(frozen=True)
class Losses:
    """What a repair cost."""

    thinking_blocks_removed: int = 0
    texts_removed: int = 0
    tool_calls_removed: int = 0
    tool_results_removed: int = 0
    other_parts_removed: int = 0
    results_quoted: int = 0
    placeholders_written: int = 0


@dataclass(frozen=True)
class ConversionLoss:
    """What another format cannot hold."""

    kind: str
    note: str


@dataclass(frozen=True)
class Replacement:
    """An id or a tool name that another format does not accept."""

    old: str
    new: str


@dataclass(frozen=True)
class RuleSummary:
    """A rule in one sentence."""

    code: str
    rule: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What `check` found."""

    format: str
    profile: str | None
    valid: bool
    message_count: int
    total: int
    """All findings; `findings` lists the first of each rule."""
    findings: list[Finding]
    health: Literal["ok", "history-missing", "broken"] | None = None
    """Session files: what the findings mean for the agent."""


@dataclass(frozen=True, kw_only=True)
class WithDocument(Generic[Document]):
    """A result in the form of the input. What did not change is the same object."""

    document: Document = field(repr=False)

    @property
    def messages(self) -> list[Any]:
        """The list of messages in the document, which texts and bytes do not have."""
        document: Any = self.document
        if isinstance(document, list):
            return document
        if isinstance(document, dict):
            for name in LISTS:
                messages = document.get(name)
                if isinstance(messages, list):
                    return messages
        kind = type(document).__name__
        raise FoxwedgeError("no-messages", f"the document is a `{kind}` without a list of messages")


@dataclass(frozen=True, kw_only=True)
class FixReport(CheckReport, WithDocument[Document]):
    """What `fix` did. The findings are those that are left."""

    changed: bool
    edits: list[Edit]
    losses: Losses


@dataclass(frozen=True, kw_only=True)
class CompactReport(WithDocument[Document]):
    """What `compact` did."""

    format: str
    changed: bool
    tokens_before: int
    tokens_after: int
    removed: list[int]
    """The messages that are gone, counted from 0."""


@dataclass(frozen=True, kw_only=True)
class ConvertReport(WithDocument[Any]):
    """What `convert` wrote."""

    source: str
    target: str
    valid: bool
    message_count: int
    losses: list[ConversionLoss]
    edits: list[Edit]
    findings: list[Finding]
    renamed: list[Replacement]
    renamed_tools: list[Replacement]


@dataclass(frozen=True, kw_only=True)
class ResponseReport:
    """What `convert_response` wrote."""

    source: str
    target: str
    failed: bool
    losses: list[ConversionLoss]
    document: Any = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class StreamReport:
    """How a stream ended."""

    complete: bool
    failed: bool
    losses: list[ConversionLoss]
    renamed: list[Replacement]
    messages: list[Any] | None = field(repr=False)
    """What the reply leaves in the history, without calls that were cut off; `None` if it was too long to be kept."""
    rest: bytes = field(repr=False)
    """The rest of the output."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What an error text of a provider means."""

    known: bool
    code: str | None = None
    rule: str | None = None
    provider: str | None = None
    advice: str | None = None
    ids: list[str] = field(default_factory=list)
    index: int | None = None


@dataclass(frozen=True, kw_only=True)
class SessionHistory:
    """What a session file holds."""

    agent: str
    format: str
    id: str | None
    title: str | None
    folder: str | None
    version: str | None
    model: str | None
    started: str | None
    updated: str | None
    health: Literal["ok", "history-missing", "broken"]
    message_count: int
    losses: list[ConversionLoss]
    history: Any = field(repr=False)
    """The conversation, in the format of its provider."""
