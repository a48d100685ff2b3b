"""Strands Agents: the repair of a restored session, and the sliding window."""

import copy
from types import SimpleNamespace

from lines import load, only, serve, store
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.session.repository_session_manager import RepositorySessionManager


def answer(question):
    only(question, ("repair", "cut"), ("bedrock",))
    document, messages = load(question)
    messages = copy.deepcopy(messages)
    if question["track"] == "repair":
        fixed = RepositorySessionManager._fix_broken_tool_use(SimpleNamespace(), messages)
        return {"output": store(document, fixed)}
    window = SlidingWindowConversationManager(window_size=question["keep"])
    agent = SimpleNamespace(messages=messages)
    window.apply_management(agent)
    return {"output": store(document, agent.messages)}


serve("strands-agents", answer)
