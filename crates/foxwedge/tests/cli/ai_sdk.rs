//! Message lists of the AI SDK: everything that `docs/ai-sdk.md` shows.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const PAGE: &str = include_str!("../../../../docs/ai-sdk.md");

const REQUEST: &str = r#"{"model":"m","messages":[
    {"role":"user","content":"Which ferry?"},
    {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"A\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"high at 07:30"},
    {"role":"assistant","content":"The first one."}]}"#;

/// The file that the page shows. `cargo xtask transcript` runs the commands that it shows with output.
fn shown_file() -> String {
    let (_, rest) = PAGE.split_once("$ cat chat.json\n").unwrap();
    let (file, _) = rest.split_once("\n\n$ ").unwrap();
    format!("{file}\n")
}

#[test]
fn the_other_commands_of_the_page_work() {
    let sandbox = Sandbox::with("chat.json", shown_file());
    sandbox.write("request.json", REQUEST);
    let commands = PAGE.lines().filter(|line| line.starts_with("foxwedge convert "));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 4);
    for command in commands {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let ran = sandbox.run(&words);
        // The model of the request has no place in a list.
        let is_strict = words.contains(&"--strict");
        assert_eq!(ran.code, i32::from(is_strict), "{command}: {}", ran.err);
        assert_eq!(serde_json::from_str::<Value>(&ran.out).is_ok(), !is_strict, "{command}");
    }
    let fixed = sandbox.run(&["fix", "chat.json"]);
    assert_eq!(fixed.code, 0, "{}", fixed.err);
    assert_eq!(sandbox.run(&["check", "chat.json"]).code, 0);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), shown_file());
}

#[test]
fn a_converted_request_comes_back_with_its_calls_and_results() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    for list in ["ai-sdk-ui", "ai-sdk-model"] {
        let there = sandbox.run(&["convert", "--to", list, "request.json"]);
        assert_eq!(there.code, 0, "{}", there.err);
        assert_eq!(sandbox.pipe(&["check", "-"], &there.out).code, 0, "{}", there.out);
        let back = sandbox.pipe(&["convert", "--to", "openai-chat", "-"], &there.out);
        let back: Value = serde_json::from_str(&back.out).unwrap();
        assert_eq!(back[1]["tool_calls"][0]["id"], "c1", "{back}");
        assert_eq!(back[1]["tool_calls"][0]["function"]["name"], "tides", "{back}");
        assert_eq!(
            (&back[2]["tool_call_id"], &back[2]["content"]),
            (&"c1".into(), &"high at 07:30".into())
        );
        assert_eq!(back[3]["content"], "The first one.");
    }
}

#[test]
fn what_a_list_cannot_do_is_refused_with_help() {
    let sandbox = Sandbox::with("request.json", REQUEST);
    let user =
        |text: &str| json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]});
    let list = Value::Array((0..60).map(|_| user(&"many words ".repeat(40))).collect()).to_string();
    sandbox.write("chat.json", &list);
    let table: [(&[&str], &str); 5] = [
        (&["convert", "--to", "ai-sdk-ui", "--model", "m", "request.json"], "has no settings"),
        (
            &["convert", "--to", "ai-sdk-ui", "--profile", "gemini", "request.json"],
            "omit --profile",
        ),
        (&["fork", "chat.json"], "-o FILE"),
        (&["compact", "--strategy", "window", "--fraction", "0.3", "chat.json"], "foxwedge resume"),
        // No budget would be enough, so none is advised.
        (
            &["compact", "--budget", "2", "chat.json"],
            "`foxwedge resume chat.json | foxwedge compact -`",
        ),
    ];
    for (words, expected) in table {
        let ran = sandbox.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("help:") && ran.err.contains(expected), "{words:?}: {}", ran.err);
    }
    assert_eq!(sandbox.read("chat.json"), list);
    let ran = sandbox.pipe(&["compact", "--format", "ai-sdk-ui", "--budget", "900", "-"], &list);
    assert!(ran.code == 2 && ran.err.contains("`foxwedge resume - | foxwedge"), "{}", ran.err);
    let response =
        r#"{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}"#;
    let ran = sandbox.pipe(
        &["convert", "--to", "ai-sdk-ui", "--from", "anthropic", "--kind", "response", "-"],
        response,
    );
    assert!(ran.code == 2 && ran.err.contains("cannot be converted to ai-sdk-ui"), "{}", ran.err);
}
