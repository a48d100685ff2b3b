"""Follows an agent in memory: what it printed and what its host did in, run events out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from . import _native

__all__ = ["AgentFollower", "AgentState", "EventWords"]

EventWords = Literal["events", "agent", "agui", "ai-sdk", "acp"]
"""The words in which events come: those of Foxwedge, of desktop apps, of AG-UI, of the AI SDK or of ACP."""

AgentState = Literal["idle", "streaming", "waiting", "complete"]
"""What an agent is doing."""

Event = dict[str, Any]


class AgentFollower:
    """An agent that is followed from its first message.

    Messages are objects, or lines as the agent prints them. Each method returns the events that follow from it.
    `clock` is the time in milliseconds, for events of messages that have none.
    """

    state: AgentState
    calls: list[str]
    """The ids of the calls that the agent waits for."""

    def __init__(
        self,
        *,
        agent: Literal["claude-code", "codex", "gemini-cli", "events"] | None = None,
        run: str | None = None,
        session: str | None = None,
        words: EventWords | None = None,
        interactive: Sequence[str] | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        options = {"agent": agent, "run": run, "session": session, "words": words, "interactive": interactive}
        given = {name: value for name, value in options.items() if value is not None}
        self._follower = _native.NativeFollower(_native.to_json(given))
        self._clock = clock
        self.state = "idle"
        self.calls = []

    def message(self, message: Any) -> list[Event]:
        """The agent printed a message."""
        return self._step("message", message)

    def host(self, message: Any) -> list[Event]:
        """The host of the agent sent it a message in the agent's own protocol."""
        return self._step("host", message)

    def asked(self, request: Any) -> list[Event]:
        """The agent asks its host whether a call may run: `toolUseID`, `toolName`, `input`, …"""
        return self._step("asked", request)

    def decision(self, decision: Any) -> list[Event]:
        """What the host answered: `toolUseID`, and `behavior` or `answers`."""
        return self._step("decision", decision)

    def prompt(self, message: Any, *, run: str | None = None) -> list[Event]:
        """The host sent a prompt. `run` names the run that it starts."""
        return self._step("prompt", {"message": message, **({} if run is None else {"run": run})})

    def interrupt(self) -> list[Event]:
        """The host interrupted the agent."""
        return self._step("interrupt", "")

    def settle(self) -> list[Event]:
        """An end that the agent announced counts now."""
        return self._step("settle", "")

    def finish(self, *, code: int | None = None, signal: str | int | None = None) -> list[Event]:
        """The process of the agent is gone: everything that is open is closed."""
        given = {"code": code, "signal": signal}
        events = self._step("finish", {name: value for name, value in given.items() if value is not None})
        self.close()
        return events

    def close(self) -> None:
        """Forgets an agent that is not to be finished."""
        self._follower.close()

    def __enter__(self) -> AgentFollower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, step: str, body: Any) -> list[Event]:
        now = None if self._clock is None else self._clock()
        report, events = self._follower.step(step, body, now)
        told = json.loads(report)
        self.state, self.calls = told["state"], told["calls"]
        # A text would also be split at separators inside of strings.
        return [json.loads(line) for line in events.split(b"\n")[:-1]]
