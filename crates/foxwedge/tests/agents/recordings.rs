//! Recordings of the real Claude Code 2.1.325, played behind the gateway: what it said then, a
//! client hears now. What the client's tools answered is not part of what is played, so the words
//! at the end are those of the recording.

use std::thread;

use serde_json::{Value, json};

use crate::{
    agent_binary::agent_binary,
    chat::{Call, Chat, Door, Turn},
    stage::Stage,
    stories::{World as _, asked},
};

/// The gateway, and an agent that plays a recording.
fn stage(name: &str) -> Stage {
    let file = format!("{}/tests/agents/recordings/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let words = [agent_binary(), "--replay", &file];
    Stage::with(&[("agent", "", &format!("command = {words:?}\nask_user = true"))])
}

/// Talks until nothing is called any more.
fn talk(door: &Door, stream: bool) -> (Vec<Call>, Vec<Turn>) {
    let mut chat = Chat::new("agent", &["get_weather"]);
    chat.stream = stream;
    chat.say("go");
    let (mut calls, mut turns) = (Vec::new(), Vec::new());
    loop {
        let turn = chat.ask(door).expect("a reply");
        // In any order but the one they were listed in.
        for call in turn.calls.iter().rev() {
            chat.answer(call);
        }
        calls.extend(turn.calls.clone());
        let last = turn.calls.is_empty();
        turns.push(turn);
        if last {
            return (calls, turns);
        }
    }
}

#[test]
fn recorded_calls_are_handed_out_and_answered() {
    let table = [
        ("sdk-mcp-parallel3-readonly", 2),
        ("sdk-mcp-parallel3-mutating", 2),
        // Without pieces nothing says when a message ends.
        ("session-state-events-mcp", 4),
    ];
    for (name, most) in table {
        for stream in [false, true] {
            let stage = stage(name);
            let (calls, turns) = talk(&stage.door(), stream);
            let cities: Vec<&Value> = calls.iter().map(|call| &call.arguments["city"]).collect();
            assert_eq!(cities, ["Oslo", "Rome", "Lima"], "{name}: {turns:#?}");
            assert!(turns.len() <= most, "{name}: {turns:#?}");
            assert!(turns[0].text.contains("Calling three client tools."), "{name}: {turns:#?}");
            let last = turns.last().expect("a reply");
            assert_eq!(last.text, "Weather handled.", "{name}");
            stage.end();
        }
    }
}

#[test]
fn recorded_turns_with_tools_of_the_agents_own_are_one_reply() {
    let table = [
        ("session-state-events-subagents", &["Two helpers.", "Both helpers are done."][..]),
        ("background-bash", &["In the background.", "Started it."]),
        ("upstream-cut-mid-tool-block", &["Half a call.", "After the cut."]),
    ];
    for (name, words) in table {
        for stream in [false, true] {
            let stage = stage(name);
            let (calls, turns) = talk(&stage.door(), stream);
            assert_eq!((calls.len(), turns.len()), (0, 1), "{name}: {turns:#?}");
            let text = &turns[0].text;
            assert!(words.iter().all(|words| text.contains(words)), "{name}: {text}");
            for hidden in ["tool_calls\":[{", "Bash"] {
                assert!(!turns[0].answer.body.contains(hidden), "{name}: {turns:#?}");
            }
            stage.end();
        }
    }
}

#[test]
fn a_recorded_failure_of_the_provider_is_told_with_its_status() {
    let stage = stage("upstream-400");
    let answer = Chat::new("agent", &[]).say("go").raw(&stage.door()).expect("a reply");
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("mock says no"), "{answer:?}");
    stage.end();
}

#[test]
fn recorded_questions_are_asked() {
    let table = [
        ("ask-user-question-answered", 1, json!({"answers": {"Which colour?": "Blue"}}), "Thanks"),
        ("permission-deny", 1, json!({"decision": "deny"}), "File handled."),
        ("permission-parallel3", 3, json!({"decision": "allow"}), "Files handled."),
    ];
    for (name, questions, decision, said) in table {
        let stage = stage(name);
        let door = stage.door();
        let asking = {
            let door = door.clone();
            thread::spawn(move || Chat::new("agent", &[]).say("go").peek(&door))
        };
        for number in 0..questions {
            let (run, ticket) = asked(&door, || asking.is_finished())
                .unwrap_or_else(|trouble| panic!("{name}, question {number}: {trouble}"));
            let mut body = decision.clone();
            body["question"] = json!(ticket);
            let answer = door.post(&format!("/v1/runs/{run}/answers"), &body).expect("a reply");
            assert_eq!(answer.status, 200, "{name}: {answer:?}");
        }
        let turn = asking.join().expect("no panic").expect("a reply");
        assert!(turn.text.contains(said), "{name}: {turn:?}");
        stage.end();
    }
}
