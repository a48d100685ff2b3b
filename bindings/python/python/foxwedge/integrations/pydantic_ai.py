"""Pydantic AI: a history processor, and the same for `message_history`.

    agent = Agent(model, capabilities=[ProcessHistory(repair_history)])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from .._functions import fix

ORIGIN = "foxwedge_origin"
"""The field that says which message a wire message was made from. Repairs keep unknown fields."""


def repair_history(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A valid history. Messages that were valid are the same objects, and so is a valid list."""
    wires = [wire for at, message in enumerate(messages) for wire in wire_messages(at, message)]
    fixed = fix(wires, format="openai-chat")
    if not fixed.changed:
        return messages
    same = {id(wire) for wire in wires}
    names = {call["id"]: call["function"]["name"] for wire in wires for call in wire.get("tool_calls", ())}
    result: list[Any] = []
    for group in groups(fixed.messages):
        origin = group[0].get(ORIGIN)
        message: Any = messages[origin] if origin is not None else None
        whole = message is not None and len(group) == len(wire_messages(origin, message))
        if whole and all(id(wire) in same for wire in group):
            result.append(message)
        elif group[0]["role"] == "assistant":
            result.append(response(group[0], message))
        else:
            changed = [request_part(wire, message, id(wire) in same, names) for wire in group]
            result.append(replace(message, parts=changed) if message else ModelRequest(parts=changed))
    return result


def groups(wires: list[Any]) -> list[list[Any]]:
    """Wire messages that were one message, and still follow each other."""
    found: list[list[Any]] = []
    for wire in wires:
        if found and wire.get(ORIGIN) is not None and found[-1][0].get(ORIGIN) == wire[ORIGIN]:
            found[-1].append(wire)
        else:
            found.append([wire])
    return found


def wire_messages(at: int, message: ModelMessage) -> list[dict[str, Any]]:
    """One wire message for a response, and one for each part of a request."""
    if message.kind == "request":
        return [{ORIGIN: at, "part": number, **wire_part(part)} for number, part in enumerate(message.parts)]
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
            "part": number,
        }
        for number, part in enumerate(message.parts)
        if part.part_kind == "tool-call"
    ]
    wire: dict[str, Any] = {ORIGIN: at, "role": "assistant", "content": message.text or ("-" if not calls else None)}
    return [{**wire, "tool_calls": calls} if calls else wire]


def wire_part(part: Any) -> dict[str, Any]:
    """Texts are not judged; only results need their content."""
    if part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name):
        text = part.model_response_str() if part.part_kind == "tool-return" else part.model_response()
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}
    return {"role": "system" if part.part_kind == "system-prompt" else "user", "content": "-"}


def response(wire: dict[str, Any], message: Any) -> Any:
    """A response with the calls that are left."""
    kept = {call["part"]: call["id"] for call in wire.get("tool_calls") or []}
    left = [
        replace(part, tool_call_id=kept[number]) if number in kept and part.tool_call_id != kept[number] else part
        for number, part in enumerate(message.parts)
        if part.part_kind != "tool-call" or number in kept
    ]
    return replace(message, parts=left)


def request_part(wire: dict[str, Any], message: Any, same: bool, names: dict[str, str]) -> Any:
    """A part of a request: the original, a new id for it, a placeholder result, or a result as text."""
    part = message.parts[wire["part"]] if message is not None else None
    if same:
        return part
    if wire["role"] != "tool":
        return UserPromptPart(content=wire["content"])
    call = wire["tool_call_id"]
    if part is not None:
        return replace(part, tool_call_id=call)
    return ToolReturnPart(tool_name=names.get(call, "unknown"), content=wire["content"], tool_call_id=call)
