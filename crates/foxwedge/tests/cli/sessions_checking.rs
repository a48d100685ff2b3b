//! Session files of agents are checked like any conversation.

use serde_json::Value;

use crate::{
    documents::{CHAT, SOUND},
    sandbox::Sandbox,
    sessions_files::{ID, Script, killed, parallel, sound},
};

#[test]
fn a_session_that_ended_well_is_sound() {
    for script in [sound(), parallel()] {
        let sandbox = Sandbox::with("s.jsonl", script.text());
        let ran = sandbox.run(&["check", "s.jsonl"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.err.starts_with("All valid: 1 file"), "{}", ran.err);
    }
}

#[test]
fn a_killed_session_is_found_at_the_line_of_its_record() {
    let sandbox = Sandbox::with("s.jsonl", killed().text());
    let ran = sandbox.run(&["check", "s.jsonl", "--output-format", "concise"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.starts_with("s.jsonl:7:"), "{}", ran.out);
    assert!(ran.out.contains("FW101") && ran.out.contains("toolu_2"), "{}", ran.out);
    assert!(ran.err.contains("`foxwedge fix s.jsonl`"), "{}", ran.err);
}

#[test]
fn programs_are_told_whose_session_it_is() {
    let sandbox = Sandbox::with("s.jsonl", killed().text());
    let ran = sandbox.run(&["check", "s.jsonl", "--output-format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let finding = &document["findings"][0];
    let told = ["code", "agent", "session_id", "path", "line"].map(|key| finding[key].to_string());
    let id = format!("\"{ID}\"");
    assert_eq!(told, ["\"FW101\"", "\"claude-code\"", id.as_str(), "\"s.jsonl\"", "7"]);
    let ran = sandbox.run(&["check", "s.jsonl", "--output-format", "sarif"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["runs"][0]["results"][0]["properties"]["agent"], "claude-code");
    // A conversation that is no session says nothing of the kind.
    sandbox.write("chat.json", CHAT);
    let ran = sandbox.run(&["check", "chat.json", "--output-format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(document["findings"][0].get("agent").is_none(), "{}", ran.out);
}

#[test]
fn sessions_in_folders_and_pipes_are_found() {
    let sandbox = Sandbox::with("logs/deep/s.jsonl", killed().text());
    sandbox.write("logs/sound.json", SOUND);
    let ran = sandbox.run(&["check", "logs", "--output-format", "concise"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.starts_with("logs/deep/s.jsonl:7:"), "{}", ran.out);
    assert!(ran.err.contains("1 of 2 files"), "{}", ran.err);
    let ran = sandbox.pipe(&["check", "-", "--output-format", "concise"], killed().text());
    assert!(ran.code == 1 && ran.out.starts_with("<stdin>:7:"), "{}", ran.all());
}

#[test]
fn damage_is_found_at_its_line() {
    let begin = sound().text();
    let torn = &killed().text()[..begin.len() + 100];
    let zeros = format!("{begin}{}", "\0".repeat(300));
    let padded = format!("{begin}{}\n{}", "\0".repeat(300), sound().line("").text());
    let mut latin = begin.clone().into_bytes();
    let at = begin.find("a.txt").unwrap();
    latin[at] = 0xe4;
    let table: [(&str, &[u8], &str, &str); 4] = [
        ("torn", torn.as_bytes(), "FW801", "s.jsonl:6:"),
        ("zeros", zeros.as_bytes(), "FW802", "s.jsonl:6:"),
        ("a line of zeros", padded.as_bytes(), "FW802", "s.jsonl:6:"),
        ("latin-1", &latin, "FW803", "s.jsonl:4:"),
    ];
    for (what, content, code, place) in table {
        let sandbox = Sandbox::with("s.jsonl", content);
        let ran = sandbox.run(&["check", "s.jsonl", "--output-format", "concise"]);
        assert_eq!(ran.code, 1, "{what}: {}", ran.all());
        let found = ran.out.lines().any(|line| line.starts_with(place) && line.contains(code));
        assert!(found, "{what}: {}", ran.out);
    }
}

#[test]
fn a_version_we_do_not_know_is_left_alone_unless_somebody_insists() {
    let text = killed().text().replace("\"version\":\"1.0.99\"", "\"version\":\"9.0.0\"");
    let sandbox = Sandbox::with("s.jsonl", &text);
    for arguments in [["check", "s.jsonl"], ["fix", "s.jsonl"], ["check", "."]] {
        let ran = sandbox.run(&arguments);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("9.0.0"), "{}", ran.err);
        assert!(ran.err.contains("help: `--format claude-code`"), "{}", ran.err);
    }
    assert_eq!(sandbox.read("s.jsonl"), text);
    let arguments = ["check", "--for-api", "--format", "claude-code", "s.jsonl"];
    let ran = sandbox.run(&arguments);
    assert_eq!(ran.code, 1, "{}", ran.all());
}

#[test]
fn a_record_that_we_cannot_know_is_an_error_with_its_line() {
    let strange = sound().line(r#"{"type":"user","uuid":"x","parentUuid":null,"sessionId":"y"}"#);
    let sandbox = Sandbox::with("s.jsonl", strange.text());
    for arguments in [["check", "s.jsonl"], ["fix", "s.jsonl"], ["check", "."]] {
        let ran = sandbox.run(&arguments);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("error: s.jsonl:6:"), "{}", ran.err);
    }
    assert_eq!(sandbox.read("s.jsonl"), strange.text());
}

#[test]
fn a_format_that_is_named_is_believed() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["check", "--format", "claude-code", "chat.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("no claude-code records"), "{}", ran.err);
    sandbox.write("s.jsonl", killed().text());
    let ran = sandbox.run(&["check", "--format", "anthropic", "s.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn an_empty_session_is_sound() {
    let line = format!(r#"{{"type":"summary","summary":"x","leafUuid":"y","sessionId":"{ID}"}}"#);
    let text = Script::new().line(&line).text();
    let ran = Sandbox::with("s.jsonl", text).run(&["check", "s.jsonl", "--format", "claude-code"]);
    assert_ne!(ran.code, 1, "{}", ran.all());
}
