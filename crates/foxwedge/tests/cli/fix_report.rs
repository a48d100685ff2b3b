//! What a repair says it did: every step to programs, each kind of step once to people.

use serde_json::{Value, json};

use crate::{
    documents::{BROKEN, CHAT},
    sandbox::Sandbox,
    sessions_files::{ID, Script, killed},
};

const FORMATS: [&str; 7] = ["json", "json-lines", "github", "gitlab", "junit", "markdown", "sarif"];

fn fixed_as(name: &str, content: &str, format: &str) -> String {
    let sandbox = Sandbox::with(name, content);
    let ran = sandbox.run(&["fix", "--output-format", format, name]);
    assert_eq!(ran.code, 0, "{format}: {}", ran.all());
    ran.out
}

/// The notes of the steps that a format tells.
fn notes(format: &str, text: &str) -> Vec<String> {
    let noted = |edits: &Value| -> Vec<String> {
        let edits = edits.as_array().cloned().unwrap_or_default();
        edits.iter().map(|edit| edit["note"].as_str().unwrap().to_owned()).collect()
    };
    match format {
        "json" => noted(&serde_json::from_str::<Value>(text).unwrap()["edits"]),
        "sarif" => {
            noted(&serde_json::from_str::<Value>(text).unwrap()["runs"][0]["properties"]["edits"])
        }
        "json-lines" => text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter_map(|line| Some(line.get("edit")?["note"].as_str()?.to_owned()))
            .collect(),
        "github" => text
            .lines()
            .filter(|line| line.starts_with("::notice "))
            .filter_map(|line| Some(line.rsplit_once("::")?.1.rsplit_once(" (")?.0.to_owned()))
            .collect(),
        "gitlab" => {
            let entries: Value = serde_json::from_str(text).unwrap();
            let fixed =
                entries.as_array().unwrap().iter().filter(|entry| entry["severity"] == "info");
            fixed
                .filter_map(|entry| {
                    Some(entry["description"].as_str()?.rsplit_once(" (")?.0.to_owned())
                })
                .collect()
        }
        "junit" => text
            .lines()
            .filter_map(|line| Some(line.strip_prefix("fixed ")?.split_once("]: ")?.1.to_owned()))
            .collect(),
        _ => text
            .lines()
            .filter_map(|line| Some(line.strip_suffix(" |")?.rsplit_once(" | ")?.1.to_owned()))
            .filter(|cell| cell != "What was done" && !cell.starts_with("---"))
            .collect(),
    }
}

#[test]
fn a_program_was_not_told_what_a_fix_did() {
    let broken = BROKEN.into_iter().map(|(name, content)| (name, content.to_owned()));
    for (name, content) in broken.chain([("s.jsonl", killed().text())]) {
        let expected = notes("json", &fixed_as(name, &content, "json"));
        assert!(!expected.is_empty(), "{name}");
        for format in FORMATS {
            let told = notes(format, &fixed_as(name, &content, format));
            assert_eq!(told, expected, "{name} as {format}");
        }
    }
}

#[test]
fn each_step_has_its_place_its_rule_and_its_reason() {
    let document: Value = serde_json::from_str(&fixed_as("chat.json", CHAT, "json")).unwrap();
    assert_eq!(document["summary"]["edits"], 3);
    assert_eq!(
        document["summary"]["losses"],
        json!({
            "thinking_blocks_removed": 0,
            "texts_removed": 0,
            "tool_calls_removed": 0,
            "tool_results_removed": 0,
            "other_parts_removed": 0,
            "results_quoted": 1,
            "placeholders_written": 1,
        })
    );
    let edits = document["edits"].as_array().unwrap();
    let edit = edits.iter().find(|edit| edit["code"] == "FW101").unwrap();
    assert_eq!(edit["name"], "unanswered-call");
    assert_eq!((&edit["message_index"], &edit["role"]), (&json!(1), &json!("assistant")));
    assert_eq!((&edit["call_ids"], &edit["path"]), (&json!(["call_2"]), &json!("chat.json")));
    assert_eq!(edit["strategy"], "synthesize");
    assert!(edit["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{edit}");
    // Where the message stands in the file.
    let line = usize::try_from(edit["line"].as_u64().unwrap()).unwrap();
    assert!(CHAT.lines().nth(line - 1).unwrap().contains("\"assistant\""), "{edit}");
    // A session says whose it is, and names its line.
    let document: Value =
        serde_json::from_str(&fixed_as("s.jsonl", &killed().text(), "json")).unwrap();
    let edit = &document["edits"][0];
    assert_eq!((&edit["agent"], &edit["session_id"]), (&json!("claude-code"), &json!(ID)));
    assert_eq!(edit["line"], 7, "{edit}");
}

#[test]
fn a_fix_of_nothing_tells_an_empty_list_and_a_check_none() {
    let sandbox = Sandbox::with("s.jsonl", crate::sessions_files::sound().text());
    let ran = sandbox.run(&["fix", "--output-format", "json", "s.jsonl"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&document["edits"], &document["summary"]["edits"]), (&json!([]), &json!(0)));
    let ran = sandbox.run(&["check", "--output-format", "json", "s.jsonl"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(document.get("edits").is_none() && document["summary"].get("losses").is_none());
}

/// A request in which an early call is open, and so many replies behind it think.
fn thinking(replies: usize) -> String {
    let mut messages = vec![
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
        ]}),
    ];
    for number in 0..replies {
        messages.push(json!({"role": "user", "content": format!("question {number}")}));
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
            {"type": "text", "text": format!("answer {number}")},
        ]}));
    }
    messages.push(json!({"role": "user", "content": "bye"}));
    json!({"model": "claude-opus-9-1", "max_tokens": 9, "messages": messages}).to_string()
}

#[test]
fn the_same_step_was_told_once_for_every_message() {
    let sandbox = Sandbox::with("a.json", thinking(14));
    let ran = sandbox.run(&["fix", "a.json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines[0], "a.json");
    let thinking: Vec<&&str> =
        lines.iter().filter(|line| line.contains("thinking is removed")).collect();
    assert_eq!(thinking.len(), 1, "{}", ran.err);
    assert!(thinking[0].contains(" and 13 more: "), "{}", ran.err);
    assert!(thinking[0].starts_with("  fixed FW101 "), "{}", ran.err);
    let last = lines.last().unwrap();
    assert!(last.contains(", 14 thinking blocks removed; backup: "), "{}", ran.err);
    let document = fixed_as("a.json", &crate::fix_report::thinking(14), "json");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["summary"]["losses"]["thinking_blocks_removed"], 14);
    assert_eq!(document["edits"].as_array().unwrap().len(), 15);
}

#[test]
fn many_steps_of_one_kind_are_counted() {
    let calls = (0..30).fold(Script::new().user("go"), |script, number| {
        script.calls(&format!("msg_{number}"), &format!("toolu_{number}"))
    });
    let sandbox = Sandbox::with("s.jsonl", calls.text());
    let ran = sandbox.run(&["fix", "s.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.lines().count() < 12, "{}", ran.err);
    assert!(ran.err.contains(" more: "), "{}", ran.err);
}

fn home_with_a_broken_session() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.keep(&format!(".claude/projects/-w/{ID}.jsonl"), 1, killed().text());
    sandbox
}

#[test]
fn a_session_is_named_by_its_id_and_the_next_command_is_told() {
    for name in [&[ID][..], &["1111"], &["--last"]] {
        let sandbox = home_with_a_broken_session();
        let ran = sandbox.run(&[&["check"], name].concat());
        assert_eq!(ran.code, 1, "{}", ran.all());
        let command = format!("`foxwedge fix {ID}`");
        assert!(ran.out.contains(&command) && ran.err.contains(&command), "{}", ran.all());
        let ran = sandbox.run(&[&["fix"], name].concat());
        assert_eq!(ran.code, 0, "{}", ran.all());
        let last = ran.err.lines().last().unwrap();
        assert_eq!(last, format!("  help: `cd /w && claude --resume {ID}` resumes the session"));
    }
}

#[test]
fn a_session_that_is_named_by_its_path_ends_with_the_same_next_command() {
    let sandbox = home_with_a_broken_session();
    let path = sandbox.home().join(format!(".claude/projects/-w/{ID}.jsonl"));
    let ran = sandbox.run(&["fix", &path.to_string_lossy()]);
    let last = ran.err.lines().last().unwrap();
    assert_eq!(last, format!("  help: `cd /w && claude --resume {ID}` resumes the session"));
    // A copy elsewhere is not what the agent opens.
    sandbox.write("copy.jsonl", killed().text());
    let ran = sandbox.run(&["fix", "copy.jsonl"]);
    assert!(ran.code == 0 && !ran.err.contains("claude --resume"), "{}", ran.all());
}

#[test]
fn where_no_session_is_found_the_places_are_named() {
    let sandbox = Sandbox::new();
    for command in [&["resume", "--last"][..], &["check", "--last"], &["list"]] {
        let ran = sandbox.run(command);
        assert!(ran.err.contains("~/.claude/projects"), "{command:?}: {}", ran.all());
        assert!(ran.err.contains("~/.codex/sessions"), "{command:?}: {}", ran.all());
    }
}

#[test]
fn thinking_goes_because_of_the_change_before_it_and_not_of_a_torn_line() {
    let thinks = |script: Script, reply: &str| {
        script.line(&format!(
            r#"{{"parentUuid":"00000000-0000-4000-8000-000000000001","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"{ID}","version":"1.0.99","type":"assistant","message":{{"id":"{reply}","type":"message","role":"assistant","model":"claude-opus-9-1","content":[{{"type":"thinking","thinking":"hm","signature":"c2ln"}},{{"type":"text","text":"done"}}],"stop_reason":null,"usage":{{"output_tokens":1}}}},"uuid":"00000000-0000-4000-8000-000000000009","timestamp":"2026-01-02T03:05:00.000Z"}}"#
        ))
    };
    let script = thinks(Script::new().user("go").calls("msg_1", "toolu_1"), "msg_2");
    let text = script.line(r#"{"type":"us"#).text();
    let document: Value = serde_json::from_str(&fixed_as("s.jsonl", &text, "json")).unwrap();
    let edits = document["edits"].as_array().unwrap();
    let gone: Vec<&Value> =
        edits.iter().filter(|edit| edit["note"].as_str().unwrap().contains("thinking")).collect();
    for edit in gone {
        assert_ne!(edit["code"], "FW801", "{document:#}");
    }
}
