//! Sessions of agents in the formats of providers, and back.

use serde_json::Value;

use crate::{convert_documents::*, homes::*, sandbox::Sandbox, sessions_files::sound};

#[test]
fn the_history_of_every_agent_passes_in_every_format() {
    let sandbox = home();
    let agents = [
        (CLAUDE, "claude-code"),
        (KILLED, "claude-code"),
        (CODEX, "codex"),
        (GEMINI, "gemini-cli"),
        (NEOVATE, "neovate"),
        (CLINE, "cline"),
        (ROO, "cline"),
    ];
    for (id, agent) in agents {
        for wire in WIRES {
            let ran = sandbox.run(&["convert", "--to", wire, id, "--output-format", "json"]);
            assert_eq!(ran.code, 0, "{id} {wire}: {}", ran.all());
            let report = report(&ran);
            assert_eq!((&report["kind"], &report["from"]), (&"request".into(), &agent.into()));
            let check = sandbox.pipe(&["check", "-", "--format", wire], &ran.out);
            assert_eq!(check.code, 0, "{id} {wire}: {}\n{}", ran.out, check.all());
        }
    }
}

#[test]
fn it_is_the_history_that_resume_tells() {
    let sandbox = home();
    for id in [CLAUDE, KILLED, CODEX, GEMINI, NEOVATE, CLINE] {
        for wire in WIRES {
            let told = sandbox.run(&["resume", id, "--to", wire]);
            let converted = sandbox.run(&["convert", id, "--to", wire]);
            assert_eq!(value(&converted.out), value(&told.out), "{id} {wire}");
        }
    }
}

#[test]
fn a_session_comes_back_from_every_format() {
    let sandbox = home();
    for (id, own) in [(CLAUDE, "anthropic"), (CODEX, "openai-responses"), (GEMINI, "gemini")] {
        let history = sandbox.run(&["convert", id, "--to", own]);
        for wire in WIRES {
            let there = sandbox.run(&["convert", id, "--to", wire]);
            let back = sandbox.pipe(&["convert", "--from", wire, "--to", own, "-"], &there.out);
            assert_eq!(back.code, 0, "{id} {wire}: {}", back.all());
            let words = |text: &str| said(&value(text));
            assert_eq!(words(&back.out), words(&history.out), "{id} {wire}: {}", there.out);
        }
    }
}

/// Everything that was said, called and answered, in order.
fn said(value: &Value) -> Vec<String> {
    const KEYS: [&str; 10] = [
        "text",
        "name",
        "content",
        "arguments",
        "output",
        "input",
        "args",
        "response",
        "command",
        "error",
    ];
    match value {
        Value::Array(items) => items.iter().flat_map(said).collect(),
        Value::Object(fields) => {
            let told = fields.iter().filter(|(key, _)| {
                KEYS.contains(&key.as_str())
                    || ["parts", "functionCall", "functionResponse"].contains(&key.as_str())
            });
            told.flat_map(|(_, value)| said(value)).collect()
        }
        // An empty text beside calls says nothing.
        Value::String(text) if !text.is_empty() => vec![text.clone()],
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn a_session_is_recognised_in_a_pipe_and_repaired_first() {
    let sandbox = claude();
    let file = sandbox.home().join(killed_path());
    let named = sandbox.run(&["convert", KILLED, "--to", "openai-chat"]);
    assert_eq!(named.code, 0, "{}", named.all());
    assert!(named.err.starts_with("repaired before:\n  FW101 "), "{}", named.err);
    assert!(
        named.err.ends_with(", claude-code → openai-chat, valid for openai-chat; no losses.\n")
    );
    let path = file.to_string_lossy().into_owned();
    let by_path = sandbox.run(&["convert", &path, "--to", "openai-chat"]);
    let piped = sandbox.pipe(&["convert", "--to", "openai-chat"], std::fs::read(&file).unwrap());
    let forced = ["convert", "--from", "claude-code", "--to", "openai-chat", &path];
    let forced = sandbox.run(&forced);
    for ran in [by_path, piped, forced] {
        assert_eq!((ran.code, &ran.out), (0, &named.out), "{}", ran.all());
    }
    let before = std::fs::read(&file).unwrap();
    let ran = sandbox.run(&["convert", &path, "--to", "openai-chat", "-o", &path]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_torn_session_tells_what_is_whole() {
    let text = sound().text();
    let torn = format!("{text}{{\"type\":\"user\",\"uuid\":\"x\",\"mess");
    let sandbox = Sandbox::with("session.jsonl", torn);
    let ran = sandbox.run(&["convert", "session.jsonl", "--to", "gemini"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("  FW801 "), "{}", ran.err);
    assert!(ran.out.contains("There is one file."), "{}", ran.out);
}
