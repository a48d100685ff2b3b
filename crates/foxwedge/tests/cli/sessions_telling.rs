//! `FOXWEDGE_LOG` tells what was read from a session file, and nobody else is bothered with it.

use crate::{
    sandbox::Sandbox,
    sessions_files::{Script, killed, parallel},
};

/// Two branches: the user went back and asked something else.
fn branched() -> Script {
    parallel().under(0).says("msg_9", "Another way.").user("stop").under(5).user("go on")
}

fn told(script: &Script, asked: &str) -> String {
    let sandbox = Sandbox::with("s.jsonl", script.text());
    let ran = sandbox.run_with("FOXWEDGE_LOG", asked, &["check", "-q", "s.jsonl"]);
    assert!(ran.code < 2, "{}", ran.all());
    ran.err
}

#[test]
fn nothing_is_told_unless_it_is_asked_for() {
    for asked in ["", "off", "other=debug", "session=off", "session=warn"] {
        assert_eq!(told(&killed(), asked), "", "{asked}");
    }
}

#[test]
fn counts_and_unmatched_calls_are_told() {
    for asked in ["session", "session=debug", "session=trace", "debug", "x=off,session=debug"] {
        let err = told(&killed(), asked);
        let lines: Vec<&str> = err.lines().collect();
        assert!(lines.iter().all(|line| line.starts_with("foxwedge:session s.jsonl: ")), "{err}");
        assert!(lines[0].contains("claude-code") && lines[0].contains("records=7"), "{err}");
        assert!(lines[1].ends_with("tool call toolu_2 to Bash has no result"), "{err}");
        assert_eq!(lines.len(), 2, "{err}");
    }
    assert_eq!(told(&killed(), "session=info").lines().count(), 1);
}

#[test]
fn what_was_left_out_is_told_with_its_reason() {
    let err = told(&branched(), "session=debug");
    assert!(err.contains("branches=2"), "{err}");
    for record in [6, 7] {
        let id = format!("00000000-0000-4000-8000-{record:012}");
        assert!(err.contains(&format!("left out {id}: on another branch\n")), "{err}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_told() {
    let err = told(&killed().line("{\"type\":\"us"), "session=debug");
    assert!(err.contains("left out line 8: unreadable\n"), "{err}");
}
