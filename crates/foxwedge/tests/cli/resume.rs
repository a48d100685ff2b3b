//! `foxwedge resume`: a history that can be sent.

use serde_json::Value;

use crate::{documents::CHAT, homes::*, sandbox::Sandbox, sessions_files::Script};

const WIRES: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"];

#[test]
fn the_history_of_every_agent_passes_in_every_format() {
    let sandbox = home();
    for id in [CLAUDE, KILLED, CODEX, GEMINI, NEOVATE, CLINE, ROO] {
        for wire in WIRES {
            let ran = sandbox.run(&["resume", id, "--to", wire]);
            assert_eq!(ran.code, 0, "{id} {wire}: {}", ran.all());
            let check = sandbox.pipe(&["check", "-"], &ran.out);
            assert_eq!(check.code, 0, "{id} {wire}: {}\n{}", ran.out, check.all());
            let check = sandbox.pipe(&["check", "-", "--format", wire], &ran.out);
            assert_eq!(check.code, 0, "{id} {wire}: {}\n{}", ran.out, check.all());
        }
    }
}

#[test]
fn without_a_format_it_is_that_of_the_agents_provider() {
    let sandbox = home();
    let table = [(CLAUDE, "anthropic"), (CODEX, "openai-responses"), (GEMINI, "gemini")];
    for (id, wire) in table {
        let ran = sandbox.run(&["resume", id]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.err.ends_with(&format!(" in {wire}, valid for {wire}.\n")), "{}", ran.err);
        let check = sandbox.pipe(&["check", "-", "--format", wire], &ran.out);
        assert_eq!(check.code, 0, "{}", check.all());
    }
}

#[test]
fn repairs_are_told_and_a_raw_history_is_not_repaired() {
    let sandbox = claude();
    let ran = sandbox.run(&["resume", KILLED]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("repaired:\n  FW101 "), "{}", ran.err);
    assert!(ran.out.contains("[foxwedge] "), "{}", ran.out);
    let ran = sandbox.run(&["resume", KILLED, "--view", "raw"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(!ran.out.contains("[foxwedge] "), "{}", ran.out);
    assert!(ran.err.contains("remaining:\n  FW101 messages["), "{}", ran.err);
    let ran = sandbox.run(&["resume", KILLED, "--policy", "drop-turn"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(!ran.out.contains("toolu_2"), "{}", ran.out);
}

#[test]
fn a_stricter_profile_is_obeyed() {
    let sandbox = claude();
    let ran = sandbox.run(&["resume", KILLED, "--to", "openai-chat", "--profile", "mistral"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let check = sandbox.pipe(&["check", "-", "--profile", "mistral"], &ran.out);
    assert_eq!(check.code, 0, "{}\n{}", ran.out, check.all());
}

#[test]
fn pretty_says_the_same() {
    let sandbox = claude();
    let plain = sandbox.run(&["resume", KILLED]).out;
    let pretty = sandbox.run(&["resume", KILLED, "--pretty"]).out;
    assert!(pretty.lines().count() > 20 && plain.lines().count() < 20, "{pretty}");
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&plain), value(&pretty));
}

#[test]
fn a_fixed_file_tells_the_same_history() {
    let sandbox = claude();
    let before = sandbox.run(&["resume", KILLED]).out;
    assert_eq!(sandbox.run(&["fix", KILLED]).code, 0);
    assert_eq!(sandbox.run(&["resume", KILLED]).out, before);
    assert_eq!(sandbox.run(&["resume", KILLED, "--view", "raw"]).out, before);
}

#[test]
fn a_request_is_converted_and_losses_are_told() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["resume", "chat.json", "--to", "gemini"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(sandbox.pipe(&["check", "-"], &ran.out).code, 0, "{}", ran.out);
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#;
    let history = format!(
        r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":[{thinking},{{"type":"text","text":"yes"}}]}},{{"role":"user","content":"go on"}}]"#
    );
    let ran = sandbox.pipe(&["resume", "-", "--to", "openai-chat"], history);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("left out:\n"), "{}", ran.err);
}

#[test]
fn a_session_without_words_is_an_empty_history() {
    let sandbox = Sandbox::new();
    let summary =
        format!(r#"{{"type":"summary","summary":"x","leafUuid":"y","sessionId":"{KILLED}"}}"#);
    let system = format!(
        r#"{{"type":"system","uuid":"s1","parentUuid":null,"sessionId":"{KILLED}","version":"1.0.99"}}"#
    );
    for line in [summary, system] {
        sandbox.keep(&killed_path(), 1, Script::new().line(&line).text());
        let ran = sandbox.run(&["resume", KILLED]);
        assert_eq!((ran.code, ran.out.trim()), (0, "[]"), "{}", ran.all());
        let ran = sandbox.run(&["export", KILLED]);
        assert_eq!(ran.code, 0, "{}", ran.all());
    }
}
