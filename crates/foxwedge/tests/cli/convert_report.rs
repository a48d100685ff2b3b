//! What a conversion tells, to people and to programs.

use serde_json::json;

use crate::{convert_documents::*, documents::UNSAFE, sandbox::Sandbox};

#[test]
fn people_see_what_was_repaired_and_lost() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let ran = sandbox.run(&["convert", "--to", "anthropic", "request.json"]);
    assert!(!ran.err.contains('\u{1b}'), "no colours in a pipe");
    insta::assert_snapshot!(ran.err);
    let ran = sandbox.run(&["convert", "--to", "bedrock", "request.json"]);
    insta::assert_snapshot!(ran.err);
}

#[test]
fn findings_that_are_left_have_a_next_step() {
    let text = r#"{"model":"m","messages":[{"role":"user","content":"Q"},
        {"role":"assistant","content":"A"}]}"#;
    let sandbox = Sandbox::with("request.json", text);
    let ran = sandbox.run(&["convert", "--to", "bedrock", "request.json"]);
    let help = "  help: `… | foxwedge fix --unsafe-fixes -` repairs the result, where it can be\n";
    assert!(ran.code == 1 && ran.err.contains(help), "{}", ran.all());
    let fixed = sandbox.pipe(&["fix", "--unsafe-fixes", "-"], &ran.out);
    assert_eq!(fixed.code, 0, "{}", fixed.all());
    let ran = sandbox.run(&["convert", "--to", "bedrock", "-o", "out.json", "request.json"]);
    let help = "  help: `foxwedge fix --unsafe-fixes out.json` repairs the result";
    assert!(ran.code == 1 && ran.err.contains(help), "{}", ran.all());
}

#[test]
fn colours_come_when_they_are_asked_for() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let arguments = ["convert", "--to", "gemini", "request.json", "--color", "always"];
    assert!(sandbox.run(&arguments).err.contains("\u{1b}[32m"));
    let ran = sandbox.run_with("NO_COLOR", "1", arguments.split_at(4).0);
    assert!(!ran.err.contains('\u{1b}'));
}

#[test]
fn equal_losses_are_counted() {
    let turn = |at: usize| {
        json!([
            { "role": "user", "content": format!("question {at}") },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "text", "text": format!("answer {at}") },
            ]},
        ])
    };
    let mut messages: Vec<_> = (0..3).flat_map(|at| turn(at).as_array().unwrap().clone()).collect();
    messages.push(json!({ "role": "user", "content": "thanks" }));
    let text = json!(messages).to_string();
    let ran = Sandbox::new().pipe(&["convert", "--to", "openai-chat", "-"], text);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let line = ran.err.lines().find(|line| line.contains(" × ")).unwrap_or(&ran.err);
    assert!(line.starts_with("  3 × ") && line.ends_with(" (messages 1, 3, 5)"), "{}", ran.err);
    assert!(
        ran.err
            .ends_with("7 messages, anthropic → openai-chat, valid for openai-chat; 3 losses.\n")
    );
}

#[test]
fn programs_get_one_document() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let flags = ["convert", "--to", "anthropic", "request.json", "--output-format", "json"];
    let ran = sandbox.run(&flags);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let document = report(&ran);
    let new = document["renamed"][0]["new"].as_str().unwrap();
    let expected = json!({
        "version": 1,
        "kind": "request",
        "from": "openai-chat",
        "to": "anthropic",
        "profile": "anthropic",
        "messages": 6,
        "losses": [
            { "kind": "setting", "message_index": null, "place": "request",
              "note": document["losses"][0]["note"] },
            { "kind": "reasoning", "message_index": 2, "place": "message",
              "note": document["losses"][1]["note"] },
        ],
        "renamed": [{ "old": "functions.tides:0", "new": new }],
        "names": [],
        "repairs": {
            "before": [{
                "code": "FW101", "strategy": "synthesize", "message_index": 2,
                "call_ids": ["call_2"], "note": "call `call_2` gets a placeholder result",
            }],
            "behind": [],
        },
        "remaining": [],
        "complete": true,
    });
    assert_eq!(document, expected);
    let keys = ["version", "kind", "from", "to", "profile", "messages", "losses", "renamed"];
    let keys = keys.iter().chain(&["names", "repairs", "remaining", "complete"]);
    let places: Vec<_> = keys.map(|key| ran.err.find(&format!("\n  \"{key}\":"))).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{}", ran.err);
}

#[test]
fn a_report_alone_goes_to_stdout() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    for flag in ["--report-only", "--dry-run"] {
        let ran = sandbox.run(&["convert", "--to", "anthropic", "request.json", flag]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
        let usual = sandbox.run(&["convert", "--to", "anthropic", "request.json"]);
        assert_eq!(ran.out, usual.err);
        let json =
            ["convert", "--to", "anthropic", "request.json", flag, "--output-format", "json"];
        let ran = sandbox.run(&json);
        assert_eq!(value(&ran.out)["messages"], 6, "{}", ran.all());
    }
}

#[test]
fn quiet_says_nothing() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let ran = sandbox.run(&["convert", "--to", "anthropic", "request.json", "-q"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    let list = r#"[{"role":"user","content":"hi"}]"#;
    let guessed = sandbox.pipe(&["convert", "--to", "gemini", "-"], list);
    assert!(guessed.err.contains("note: <stdin>: read as openai-chat"), "{}", guessed.err);
    assert!(guessed.err.contains("; set another format with --from\n"), "{}", guessed.err);
    assert_eq!(sandbox.pipe(&["convert", "--to", "gemini", "-", "-q"], list).err, "");
}

#[test]
fn what_no_repair_may_change_is_told_and_makes_one() {
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&["convert", "--to", "openai-chat", "-"], UNSAFE);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let ran = sandbox.pipe(&["convert", "--to", "anthropic", "-"], UNSAFE);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(!ran.out.is_empty());
    assert!(ran.err.contains("remaining:\n  FW403 messages[1]: "), "{}", ran.err);
    assert!(ran.err.contains(", 1 finding left for anthropic; "), "{}", ran.err);
    let flags = ["convert", "--to", "anthropic", "-", "--pretty", "--output-format", "json"];
    let ran = sandbox.pipe(&flags, UNSAFE);
    let finding = &report(&ran)["remaining"][0];
    assert_eq!(finding["code"], "FW403");
    assert_eq!(finding["path"], "<stdout>");
    assert_eq!(finding["fix"]["applicability"], "unsafe");
    let line = finding["line"].as_u64().unwrap() as usize;
    assert_eq!(ran.out.lines().nth(line - 1).map(str::trim), Some("{"), "{}", ran.out);
    assert!(line > 5);
}
