//! Rules, explanations and completions.

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn rules_are_listed_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let text = sandbox.run(&["rules"]);
    let listed = sandbox.run(&["rules", "--output-format", "json"]);
    let entries: Vec<Value> = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((text.code, listed.code), (0, 0));
    assert_eq!(text.out.lines().count(), entries.len());
    for (line, entry) in text.out.lines().zip(&entries) {
        let begin =
            format!("{}  {} ", entry["code"].as_str().unwrap(), entry["name"].as_str().unwrap());
        assert!(line.starts_with(&begin), "{line}");
        // Every rule that is listed has a page, under its code and under its name.
        let page = sandbox.run(&["rule", entry["code"].as_str().unwrap()]).out;
        assert!(page.starts_with("# FW"), "{page}");
        assert_eq!(page, sandbox.run(&["rule", entry["name"].as_str().unwrap()]).out);
    }
}

#[test]
fn error_texts_are_explained() {
    let sandbox = Sandbox::new();
    let text = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    let told = sandbox.run(&["explain", text]);
    insta::assert_snapshot!(told.all());
    let piped = sandbox
        .pipe(&["explain"], format!("Error code: 400 - {{'error': {{'message': '{text}'}}}}"));
    assert_eq!(piped.out, told.out);
    let chinese = sandbox.run(&["explain", "--language", "zh", text]);
    assert!(chinese.out.contains("请运行"), "{}", chinese.out);
    let unknown = sandbox.run(&["explain", "rate limit exceeded"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(unknown.err.contains("help:"), "{}", unknown.err);
}

#[test]
fn a_code_is_explained_by_its_page() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["rule", "FW101"]).out;
    assert_eq!(sandbox.run(&["explain", "FW101"]).out, page);
    assert_eq!(sandbox.run(&["explain", "unanswered-call"]).out, page);
}

#[test]
fn keys_of_an_error_envelope_are_not_ids() {
    let text = "{'message': \"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_abc123\", 'type': 'invalid_request_error', 'param': 'messages'}";
    let told = Sandbox::new().run(&["explain", text]).out;
    let ids = told.lines().find(|line| line.starts_with("ids"));
    assert_eq!(ids.map(|line| line.trim_start_matches("ids").trim()), Some("call_abc123"));
}

#[test]
fn completions_know_our_words() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = Sandbox::new().run(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("unsafe-fixes"), "{shell}");
    }
}
