//! `foxwedge hook`: an agent that resumes a session shows what is wrong with it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    homes::{KILLED, home, killed_path},
    sandbox::Sandbox,
};

/// What the agent shows, if anything.
fn shown(sandbox: &Sandbox, input: &str) -> Option<String> {
    let ran = sandbox.pipe(&["hook"], input);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.all());
    if ran.out.is_empty() {
        return None;
    }
    let output: Value = serde_json::from_str(&ran.out).unwrap();
    Some(output["systemMessage"].as_str().unwrap().to_owned())
}

fn resumed(sandbox: &Sandbox) -> String {
    let path = sandbox.home().join(killed_path());
    json!({
        "session_id": KILLED,
        "transcript_path": path.to_string_lossy(),
        "cwd": "/w",
        "hook_event_name": "SessionStart",
        "source": "resume",
    })
    .to_string()
}

#[test]
fn a_broken_session_is_reported_with_the_command_that_repairs_it() {
    let sandbox = home();
    let before = fs::read(sandbox.home().join(killed_path())).unwrap();
    let message = shown(&sandbox, &resumed(&sandbox)).unwrap();
    assert!(message.starts_with("foxwedge: "), "{message}");
    assert!(message.ends_with(&format!("foxwedge continue {KILLED}")), "{message}");
    assert_eq!(fs::read(sandbox.home().join(killed_path())).unwrap(), before);
    sandbox.run(&["fix", KILLED]);
    assert_eq!(shown(&sandbox, &resumed(&sandbox)), None, "it was repaired");
}

#[test]
fn an_agent_starts_whatever_it_says_to_its_hook() {
    let sandbox = home();
    let elsewhere = json!({"transcript_path": "/nowhere/a.jsonl"}).to_string();
    for input in ["", "{", "[]", "{}", &elsewhere, &"x".repeat(2 << 20)] {
        assert_eq!(shown(&sandbox, input), None, "{}", &input[..input.len().min(80)]);
    }
}
