//! Findings as people see them.

use crate::{documents::*, sandbox::Sandbox};

fn drawn(name: &str, content: &str, flags: &[&str]) -> String {
    let sandbox = Sandbox::with(name, content);
    sandbox.run(&[&["check", name], flags].concat()).all()
}

#[test]
fn every_format_draws_its_pairs() {
    for (name, content) in BROKEN {
        insta::assert_snapshot!(name.replace(".json", ""), drawn(name, content, &[]));
    }
}

#[test]
fn a_long_way_between_call_and_answer_is_cut_short() {
    let call = r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let talk = r#"{"role":"user","content":"talk"},"#.repeat(40);
    let answer = r#"{"role":"tool","tool_call_id":"c","content":"x"}"#;
    let text = format!("[{{\"role\":\"user\",\"content\":\"go\"}},{call},{talk}{answer},{answer}]");
    insta::assert_snapshot!(drawn("long.json", &text, &[]));
}

#[test]
fn unsafe_fixes_and_the_strict_profile_are_named_in_the_help() {
    insta::assert_snapshot!(drawn("unsafe.json", UNSAFE, &[]));
    insta::assert_snapshot!(drawn(
        "it's.json",
        GEMINI,
        &["--profile", "strict", "--select", "FW1"]
    ));
}

#[test]
fn empty_histories_have_no_excerpt() {
    insta::assert_snapshot!(drawn(
        "empty.json",
        r#"{"model":"claude-x","system":"s","messages":[]}"#,
        &[]
    ));
}

#[test]
fn a_guess_is_told() {
    let text = r#"[{"role":"user","content":"hi"}]"#;
    let ran = Sandbox::with("plain.json", text).run(&["check", "plain.json"]);
    assert!(ran.err.contains("note: plain.json: read as openai-chat, guessed from"), "{}", ran.err);
    let ran = Sandbox::with("plain.json", text).run(&["check", "-q", "plain.json"]);
    assert_eq!(ran.all(), "exit 0\n--- stdout\n--- stderr\n");
}

#[test]
fn a_file_with_many_findings_shows_fifty() {
    let answers = r#",{"role":"tool","tool_call_id":"x","content":"y"}"#.repeat(200);
    let text = format!("[{{\"role\":\"user\",\"content\":\"go\"}}{answers}]");
    let sandbox = Sandbox::with("many.json", text);
    let ran = sandbox.run(&["check", "many.json"]);
    assert_eq!(ran.out.matches("error[FW102]").count(), 50);
    assert!(ran.out.contains("… and 150 more in many.json; --output-format concise lists all"));
    let ran = sandbox.run(&["check", "--output-format", "concise", "many.json"]);
    assert_eq!(ran.out.lines().count(), 200);
}
