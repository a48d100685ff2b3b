"""The error of the package."""

from __future__ import annotations


class FoxwedgeError(Exception):
    """What every failure is: ``kind`` for programs, ``message`` for people.

    Kinds: ``invalid-options``, ``unknown-format``, ``unreadable``, ``cannot-compact``, ``unknown-stream``,
    ``internal``.
    """

    kind: str
    message: str
    at: int | None
    """The byte of the document where reading stopped."""

    def __init__(self, kind: str, message: str, at: int | None = None) -> None:
        super().__init__(kind, message, at)
        self.kind = kind
        self.message = message
        self.at = at

    def __str__(self) -> str:
        return self.message
