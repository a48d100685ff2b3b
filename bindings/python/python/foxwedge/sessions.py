"""Session files of agents: Claude Code, Codex, Gemini CLI, Neovate and Cline."""

from __future__ import annotations

import json

from ._functions import check, fix, record, run
from ._types import Agent, SessionHistory

__all__ = ["check", "fix", "read"]


def read(file: str | bytes, *, agent: Agent | None = None) -> SessionHistory:
    """What a session file holds: its agent, its health, and its conversation as messages.

    `file` is the content of the file, not its path.
    """
    report, document = run("history", file, {"agent": agent})
    return record(SessionHistory, report, history=json.loads(document or b"null"))
