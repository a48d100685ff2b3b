"""The follower as a host of an agent sees it, and the table of recorded agents that all packages share."""

import json
import os
import unittest

from foxwedge import FoxwedgeError, _native
from foxwedge.follow import AgentFollower

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Bash"]}
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s"}


def call(name, text="ls"):
    content = [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": text}}]
    return {"type": "assistant", "uuid": "a", "session_id": "s", "message": {"id": "m", "role": "assistant", "content": content}}


def result(name, text):
    content = [{"type": "tool_result", "tool_use_id": name, "content": text}]
    return {"type": "user", "uuid": "r", "session_id": "s", "message": {"role": "user", "content": content}}


class Follow(unittest.TestCase):
    def test_messages_become_the_events_of_a_run_as_objects_or_as_lines(self):
        runs = []
        for form in (lambda message: message, json.dumps):
            follower = AgentFollower(run="r1")
            events = [event for message in (INIT, call("c1"), result("c1", "3 files"), DONE) for event in follower.message(form(message))]
            runs.append(events + follower.finish(code=0))
        self.assertEqual(runs[0], runs[1])
        types = [event["type"] for event in runs[0]]
        self.assertEqual((types[0], types[-1], runs[0][-1]["reason"]), ("run-started", "run-ended", "completed"))
        ended = next(event for event in runs[0] if event["type"] == "tool-result")
        self.assertEqual((ended["toolCallId"], ended["status"], ended["content"]), ("c1", "succeeded", "3 files"))

    def test_the_state_and_the_open_calls_are_known(self):
        with AgentFollower(words="agent", clock=lambda: 7) as follower:
            self.assertEqual((follower.state, follower.calls), ("idle", []))
            follower.message(INIT)
            follower.message(call("c1"))
            self.assertEqual((follower.state, follower.calls), ("waiting", ["c1"]))
            ending = follower.interrupt() + follower.finish(signal="SIGTERM")
            self.assertEqual([event["type"] for event in ending], ["agent:tool-result", "agent:complete"])

    def test_separators_of_lines_inside_of_texts_stay(self):
        follower = AgentFollower()
        events = follower.message(INIT) + follower.message(call("c1", "a\u2028b\x85c"))
        called = next(event for event in events if event["type"] == "tool-call" and "input" in event)
        self.assertEqual(called["input"]["command"], "a\u2028b\x85c")

    def test_a_prompt_starts_the_run_that_it_names(self):
        follower = AgentFollower(run="r1")
        for message in (INIT, DONE):
            follower.message(message)
        events = follower.settle() + follower.prompt("go on", run="r2") + follower.message(call("c2"))
        self.assertIn("r2", {event.get("runId") for event in events})

    def test_mistakes_are_errors_of_the_package(self):
        follower = AgentFollower()
        for step in (lambda: AgentFollower(agent="x"), lambda: follower.decision({"toolUseID": "c", "behavior": "deny"}), lambda: follower.message(object())):
            self.assertRaises(FoxwedgeError, step)
        follower.message(INIT)
        follower.finish()
        self.assertRaises(FoxwedgeError, lambda: follower.message(DONE))

    def test_every_recorded_agent_gives_the_same_bytes(self):
        compared = 0
        with open(os.environ["FOXWEDGE_FOLLOWED"], encoding="utf-8") as table:
            for line in map(json.loads, table):
                follower = _native.NativeFollower(json.dumps(line["options"]))
                for step in line["steps"]:
                    report, events = follower.step(step["step"], step["body"], step["now"])
                    self.assertEqual((report, events.decode()), (step["report"], step["events"]), line["name"])
                    compared += 1
        self.assertGreater(compared, 500)


if __name__ == "__main__":
    unittest.main()
