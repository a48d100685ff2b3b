//! Signals, kills and readers that go away.

use std::process::Stdio;

use serde_json::Value;

use crate::stage::{Live, Stage, lives, number, until};

const SLEEP: &str = r#"call run with {"command":"echo $$ > pid; sleep 100"}"#;

/// Whether every call of a conversation has one answer.
fn is_whole(history: &Value) -> bool {
    let parts = || {
        let messages = history["messages"].as_array().unwrap().iter();
        messages.flat_map(|message| message["parts"].as_array().unwrap())
    };
    let ids = |kind: &str| {
        let mut ids: Vec<String> = parts()
            .filter(|part| part["type"] == kind)
            .map(|part| part["id"].to_string())
            .collect();
        ids.sort();
        ids
    };
    !ids("call").is_empty() && ids("call") == ids("answer")
}

#[test]
fn ctrl_c_stops_the_tool_and_keeps_a_valid_session() {
    for print in [true, false] {
        let stage = Stage::new();
        let mut live = match print {
            true => stage.live(&["--yes", "-p", SLEEP]),
            false => stage.live(&["--yes"]),
        };
        match print {
            true => live.close(),
            false => live.say(SLEEP),
        }
        let tool = number(&stage.path("pid"));
        assert!(lives(tool));
        live.signal("INT");
        let ran = live.end();
        assert_eq!((ran.code, ran.out.as_str()), (130, ""), "{ran:?}");
        assert!(ran.err.contains("⚠ run") && ran.err.contains("may have run"), "{}", ran.err);
        assert!(
            ran.err.contains("kept 0 results, 1 may have run; the history is valid"),
            "{}",
            ran.err
        );
        until("the tool is gone", || !lives(tool));
        assert_eq!(stage.outcomes(), ["stopped"]);
        assert!(is_whole(&stage.history()), "{}", stage.history());
        let ran = stage.chat(&["-p", "--continue"], "");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.starts_with("The tool said: "), "{ran:?}");
    }
}

#[test]
fn a_tool_that_does_not_listen_is_ended_by_force() {
    let stage = Stage::new();
    let deaf = r#"call run with {"command":"trap '' INT TERM; echo $$ > pid; while true; do sleep 1; done"}"#;
    let mut live = stage.live(&["--yes", "-p", deaf]);
    live.close();
    let tool = number(&stage.path("pid"));
    live.signal("INT");
    live.hear("stopping");
    live.signal("INT");
    let ran = live.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    until("the tool is gone", || !lives(tool));
    assert_eq!(stage.outcomes(), ["stopped"]);
    assert!(is_whole(&stage.history()));
}

#[test]
fn a_process_that_is_killed_leaves_a_session_that_goes_on() {
    let stage = Stage::new();
    let mut live = stage.live(&["--yes"]);
    live.say("hello");
    live.say(SLEEP);
    let tool = number(&stage.path("pid"));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let ran = stage.chat(&["-p", "--continue"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("closed 1 run whose process is gone"), "{}", ran.err);
    assert!(ran.out.starts_with("The tool said: "), "{ran:?}");
    assert_eq!(stage.outcomes(), ["completed", "interrupted", "completed"]);
    assert!(is_whole(&stage.history()));
    // The next start ends what the killed one could not, where that can be told.
    if cfg!(target_os = "linux") {
        until("the tool is gone", || !lives(tool));
    } else if lives(tool) {
        let id = tool.to_string();
        let _ = std::process::Command::new("kill").args(["-s", "KILL", &id]).status();
    }
}

#[test]
fn ctrl_c_while_nothing_is_at_work_leaves() {
    let stage = Stage::new();
    let mut live = stage.live(&[]);
    live.say("hello");
    live.hear("completed");
    live.signal("INT");
    let ran = live.end();
    assert_eq!((ran.code, ran.out.as_str()), (130, "You said: hello\n"), "{ran:?}");
    let mut live = stage.live(&["-p"]);
    live.hear("scripted");
    live.signal("INT");
    assert_eq!(live.end().code, 130);
}

#[test]
fn a_reader_that_goes_away_stops_the_run() {
    let stage = Stage::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = stage.command(&["chat", "--yes"]);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    use std::io::Write;
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("hello\n{SLEEP}\nnever\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(!err.contains("panicked") && !err.contains("error"), "{err}");
    let outcomes = stage.outcomes();
    assert!(outcomes.len() < 3 && !outcomes.contains(&"open".to_owned()), "{outcomes:?}");
    let ran = stage.chat(&["-p", "again", "--continue"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    // The second prompt may have been recorded before it was stopped; then it is answered, too.
    if outcomes.len() == 1 {
        assert_eq!(ran.out, "You said: again\n", "{ran:?}");
    }
}

#[test]
fn a_reader_that_goes_away_in_the_middle_ends_the_tool() {
    let stage = Stage::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = stage.command(&["chat", "--yes", "-p", SLEEP, "--output-format", "jsonl"]);
    let output = command.stdin(Stdio::null()).stdout(writer).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert_eq!(stage.outcomes(), ["stopped"], "{err}");
    let pid = std::fs::read_to_string(stage.path("pid")).unwrap_or_default();
    if let Ok(tool) = pid.trim().parse() {
        until("the tool is gone", || !lives(tool));
    }
}

#[test]
fn a_run_is_stopped_from_outside() {
    let stage = Stage::new();
    let mut live = stage.live(&["--yes", "-p", SLEEP]);
    live.close();
    let tool = number(&stage.path("pid"));
    let ran = stage.run(&["runs", "--json", "--open"], "");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let run = document["runs"][0]["id"].as_str().unwrap().to_owned();
    let ran = stage.run(&["runs", "stop", &run], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = live.end();
    assert_eq!(ran.code, 1, "{ran:?}");
    until("the tool is gone", || !lives(tool));
    assert_eq!(stage.outcomes(), ["stopped"]);
}

#[test]
fn the_third_ctrl_c_leaves_whatever_happens() {
    let stage = Stage::new();
    let mut live = Live::of(stage.command(&["chat", "-p", "x", "--model", "scripted?hang=0"]));
    live.close();
    until("a run is at work", || stage.store().exists() && stage.outcomes() == ["open"]);
    for _ in 0..3 {
        live.signal("INT");
    }
    let ran = live.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    let outcomes = stage.outcomes();
    assert!(outcomes == ["stopped"] || outcomes == ["interrupted"], "{outcomes:?}");
}
