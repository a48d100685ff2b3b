use std::fs;

use foxwedge_run::{follow::detect_source, wire};
use serde_json::{Value, json};

use super::*;

/// A follower that a test talks to in JSON.
struct TestHost(FollowCall);

impl TestHost {
    fn new(options: &Value) -> TestHost {
        TestHost(FollowCall::new(&options.to_string()).expect("valid options"))
    }

    fn step(&mut self, step: &str, body: &Value) -> Vec<Value> {
        self.text(step, &body.to_string())
    }

    fn text(&mut self, step: &str, body: &str) -> Vec<Value> {
        let reply = self.0.step(step, body, None).unwrap_or_else(|error| panic!("{step}: {error}"));
        events(&reply)
    }

    fn fail(&mut self, step: &str, body: &str) -> &'static str {
        self.0.step(step, body, None).expect_err("it fails").kind
    }
}

fn events(reply: &CallReply) -> Vec<Value> {
    let text = std::str::from_utf8(reply.document.as_deref().expect("always")).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

fn init() -> Value {
    json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Bash"]})
}

fn call(id: &str, name: &str) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {"command": "ls"}});
    json!({"type": "assistant", "uuid": id, "session_id": "s",
        "message": {"id": format!("m-{id}"), "role": "assistant", "content": [block]}})
}

fn result(id: &str, is_error: bool, content: &str) -> Value {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": content});
    json!({"type": "user", "uuid": format!("r-{id}"), "session_id": "s",
        "message": {"role": "user", "content": [block]}})
}

fn done() -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done.", "session_id": "s"})
}

/// The recordings of real agents: their names and lines.
fn recordings() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/streams");
    let paths = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("one").path());
    let streams = paths.filter(|path| path.extension().is_some_and(|end| end == "stream"));
    let read = |path: std::path::PathBuf| {
        (path.display().to_string(), fs::read_to_string(&path).expect("a stream"))
    };
    streams.map(read).collect()
}

/// What a follower and a machine make of a line, written without this module.
fn expected_events(
    follower: &mut AgentFollower,
    machine: &mut SessionMachine,
    line: &str,
) -> String {
    let exit = |kind| line.strip_prefix(kind).map(|code: &str| code.parse().expect("a number"));
    let events = match (line.strip_prefix("> "), exit("! exit "), exit("! signal ")) {
        (Some(line), _, _) => follower.host_line(line),
        (_, Some(code), _) => follower.finish(AgentExit::Code(code)),
        (_, _, Some(signal)) => follower.finish(AgentExit::Signal(signal)),
        _ if line == "! eof" => follower.finish(AgentExit::Eof),
        _ => follower.line(line),
    };
    let mut effects = Vec::new();
    for event in events {
        machine.apply(0, MachineInput::Event(event), &mut effects);
    }
    let events = effects.into_iter().filter_map(|effect| match effect {
        RunEffect::Emit(event) => Some(wire::write(&event) + "\n"),
        _ => None,
    });
    events.collect()
}

/// A line of a recording as a step.
fn recorded_step(line: &str) -> (&'static str, String) {
    let number = |kind| line.strip_prefix(kind);
    match (line.strip_prefix("> "), number("! exit "), number("! signal ")) {
        (Some(line), _, _) => ("host", line.to_owned()),
        (_, Some(code), _) => ("finish", format!("{{\"code\":{code}}}")),
        (_, _, Some(signal)) => ("finish", format!("{{\"signal\":{signal}}}")),
        _ if line == "! eof" => ("finish", String::new()),
        _ => ("message", line.to_owned()),
    }
}

#[test]
fn every_recording_gives_the_events_of_the_follower_byte_for_byte() {
    let mut compared = 0;
    for (name, stream) in recordings() {
        let agent = stream.lines().find_map(detect_source).expect("a known agent");
        let mut follower = AgentFollower::new(agent, "run".into());
        let mut machine = SessionMachine::new(MachineSettings::default());
        let options = json!({"agent": agent.name()}).to_string();
        let mut ours = FollowCall::new(&options).expect("valid options");
        for line in stream.lines() {
            let expected = expected_events(&mut follower, &mut machine, line);
            let (step, body) = recorded_step(line);
            let reply = ours.step(step, &body, None).expect("a step");
            let document = String::from_utf8(reply.document.expect("always")).expect("text");
            // An end that waits for its tools comes at the end of the agent.
            assert!(document.starts_with(&expected), "{name}\n{line}\n{document}");
            assert!(document == expected || step == "finish", "{name}\n{line}\n{document}");
            compared += 1;
        }
        assert!(machine.runs().len() == ours.machine.runs().len(), "{name}");
        assert!(ours.machine.runs().iter().all(|run| run.is_over()), "{name}");
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn a_question_that_was_handed_over_is_no_failure() {
    for (words, status) in [("events", "handed_over"), ("agent", "success")] {
        let mut host = TestHost::new(&json!({"words": words}));
        host.step("message", &init());
        host.step("message", &call("q1", "AskUserQuestion"));
        let questions = json!([{"question": "Which colour?"}]);
        let asked = json!({"toolUseID": "q1", "toolName": "AskUserQuestion", "input": {"questions": questions}});
        let events = host.step("asked", &asked);
        assert!(events[0].to_string().contains("Which colour?"), "{events:?}");
        let mut events = host.step(
            "decision",
            &json!({"toolUseID": "q1", "behavior": "deny", "message": "asked elsewhere"}),
        );
        events.extend(host.step("message", &result("q1", true, "asked elsewhere")));
        let ends: Vec<&Value> =
            events.iter().filter(|event| event["isError"] != Value::Null).collect();
        assert!(
            ends.iter().all(|end| end["status"] == status && end["isError"] == false),
            "{ends:?}"
        );
        events.extend(host.step("message", &done()));
        events.extend(host.text("finish", ""));
        let end = events.last().expect("an end");
        assert_eq!(end["reason"], "completed", "{end}");
    }
}

#[test]
fn answers_and_approvals_are_events() {
    let mut host = TestHost::new(&json!({}));
    host.step("message", &init());
    host.step("message", &call("q1", "AskUserQuestion"));
    host.step("asked", &json!({"toolUseID": "q1", "toolName": "AskUserQuestion", "input": {}}));
    let events = host.step("decision", &json!({"toolUseID": "q1", "answers": {"Which?": "red"}}));
    assert_eq!(types(&events), ["question-answered"]);
    assert_eq!(events[0]["answer"], json!({"Which?": "red"}));
    // A host that did not say that it was asked.
    host.step("message", &call("c1", "Bash"));
    let events = host.step("decision", &json!({"toolUseID": "c1", "behavior": "allow"}));
    assert_eq!(types(&events), ["approval-asked", "approval-answered"]);
    assert_eq!(events[1]["verdict"], "allowed");
}

#[test]
fn a_denied_call_is_denied() {
    let mut host = TestHost::new(&json!({}));
    host.step("message", &init());
    host.step("message", &call("c1", "Bash"));
    host.step("asked", &json!({"toolUseID": "c1", "toolName": "Bash", "input": {"command": "ls"}}));
    let mut events =
        host.step("decision", &json!({"toolUseID": "c1", "behavior": "deny", "message": "no"}));
    events.extend(host.step("message", &result("c1", true, "no")));
    assert_eq!(events[0]["verdict"], "denied");
    assert!(events.iter().all(|event| event["status"] != "failed"), "{events:?}");
}

#[test]
fn an_interrupted_tool_is_closed_and_the_run_is_stopped() {
    for (words, status) in [("events", "interrupted"), ("agent", "cancelled")] {
        let mut host = TestHost::new(&json!({"words": words}));
        host.step("message", &init());
        host.step("message", &call("c1", "Bash"));
        let mut events = host.text("interrupt", "");
        events.extend(host.step("finish", &json!({"signal": "SIGINT"})));
        let result = events.iter().find(|event| event["toolCallId"] == "c1").expect("a result");
        assert_eq!(result["status"], status, "{result}");
        assert_eq!(events.last().expect("an end")["reason"], "stopped");
    }
}

#[test]
fn unknown_ids_are_errors_that_change_nothing() {
    let mut host = TestHost::new(&json!({"words": "agent"}));
    assert_eq!(host.fail("decision", r#"{"toolUseID":"x","behavior":"allow"}"#), "unknown-call");
    host.step("message", &init());
    host.step("message", &call("c1", "Bash"));
    assert_eq!(host.fail("decision", r#"{"toolUseID":"x","behavior":"deny"}"#), "unknown-call");
    let stray = host.step("message", &result("y", false, "whose?"));
    assert!(types(&stray).iter().all(|kind| *kind != "agent:complete"), "{stray:?}");
    let events = host.step("message", &result("c1", false, "3 files"));
    assert_eq!(
        (&events[0]["status"], &events[0]["result"]),
        (&json!("success"), &json!("3 files"))
    );
}

#[test]
fn a_prompt_names_its_run_and_runs_are_apart() {
    let mut host = TestHost::new(&json!({"run": "first", "words": "ai-sdk"}));
    assert!(host.step("prompt", &json!({"message": "go"})).is_empty());
    host.step("message", &init());
    host.step("message", &done());
    let events = host.step("prompt", &json!({"message": {"type": "user", "message": {"role": "user", "content": "more"}}, "run": "second"}));
    assert!(types(&events).contains(&"finish"), "{events:?}");
    host.step("message", &init());
    let events = host.step("message", &call("c", "Bash"));
    assert!(types(&events).contains(&"tool-input-available"), "{events:?}");
    let ids: Vec<&str> = host.0.machine.runs().iter().map(|run| &**run.id()).collect();
    assert_eq!(ids, ["first", "second"]);
}

#[test]
fn times_come_from_the_caller_and_from_messages() {
    let mut call = FollowCall::new(r#"{"words":"agent"}"#).expect("valid");
    let mut at = |step: &str, body: &Value, now| {
        events(&call.step(step, &body.to_string(), Some(now)).expect("a step"))
    };
    assert_eq!(at("message", &init(), 1000)[0]["startedAt"], 1000);
    at("message", &done(), 4000);
    let end = at("finish", &json!({"code": 0}), 5000).pop().expect("an end");
    assert_eq!((&end["terminalAt"], &end["duration"]), (&json!(5000), &json!(4000)));
}

#[test]
fn hostile_steps_are_typed_errors_and_hostile_messages_are_events() {
    let mut host = TestHost::new(&json!({}));
    let table = [
        ("mend", "{}", "unknown-operation"),
        ("decision", "", "unreadable"),
        ("decision", "[", "unreadable"),
        ("decision", "[]", "unreadable"),
        ("decision", "{}", "unreadable"),
        ("decision", r#"{"toolUseID":7,"behavior":"allow"}"#, "unreadable"),
        ("decision", r#"{"toolUseID":"c","behavior":"maybe"}"#, "unreadable"),
        ("decision", r#"{"toolUseID":"c","behavior":"allow","answers":{}}"#, "unreadable"),
        ("asked", r#"{"toolUseID":""}"#, "unreadable"),
        ("prompt", "7", "unreadable"),
        ("finish", r#"{"code":"x"}"#, "unreadable"),
        ("finish", r#"{"signal":"SIGNOTHING"}"#, "unreadable"),
    ];
    for (step, body, kind) in table {
        assert_eq!(host.fail(step, body), kind, "{step} {body}");
    }
    host.step("message", &init());
    let deep = "[".repeat(100_000);
    for line in ["", "{", "null", "7", "[]", "\u{0}", deep.as_str(), r#"{"type":7}"#] {
        let events = host.text("message", line);
        assert!(events.iter().all(|event| event["type"] == "unknown"), "{line}: {events:?}");
    }
    for options in
        [r#"{"word":"x"}"#, r#"{"words":"x"}"#, r#"{"agent":"x"}"#, r#"{"interactive":"x"}"#]
    {
        let error = FollowCall::new(options).err().expect("it fails");
        assert_eq!(error.kind, "invalid-options", "{options}");
    }
}

#[test]
fn more_tools_may_ask_people() {
    let mut host = TestHost::new(&json!({"interactive": ["AskTeam"]}));
    host.step("message", &init());
    host.step("message", &call("c", "AskTeam"));
    let events = host.step("message", &result("c", true, "later"));
    assert_eq!(events[0]["status"], "handed_over");
}
