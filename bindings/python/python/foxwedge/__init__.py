"""Keeps conversations of LLM agents with tool calls valid.

`fix` returns a history that the provider accepts; `check` says what is wrong. Nothing is sent anywhere.
"""

from . import follow, sessions
from ._errors import FoxwedgeError
from ._functions import StreamConverter, check, compact, convert, convert_response, explain, fix, rules
from ._types import (
    Agent,
    CheckOptions,
    CheckReport,
    CompactOptions,
    CompactReport,
    ConversionLoss,
    ConvertOptions,
    ConvertReport,
    Edit,
    Explanation,
    Finding,
    FixReport,
    Format,
    Losses,
    Profile,
    RepairOptions,
    Replacement,
    ResponseReport,
    RuleSummary,
    SessionHistory,
    StreamReport,
)

__all__ = [
    "Agent",
    "CheckOptions",
    "CheckReport",
    "CompactOptions",
    "CompactReport",
    "ConversionLoss",
    "ConvertOptions",
    "ConvertReport",
    "Edit",
    "Explanation",
    "Finding",
    "FixReport",
    "Format",
    "FoxwedgeError",
    "Losses",
    "Profile",
    "RepairOptions",
    "Replacement",
    "ResponseReport",
    "RuleSummary",
    "SessionHistory",
    "StreamConverter",
    "StreamReport",
    "check",
    "compact",
    "convert",
    "convert_response",
    "explain",
    "fix",
    "follow",
    "rules",
    "sessions",
]
