//! `foxwedge fix --broken`: a plan, a question, and one summary.

use std::fs;

use crate::{homes::*, sandbox::Sandbox};

/// The home of every agent, and a session that nothing can read.
fn damaged_home() -> Sandbox {
    let sandbox = home();
    let newer = named(&crate::sessions_files::sound(), CLAUDE).replace("\"1.0.99\"", "\"9.9.9\"");
    sandbox.keep(".claude/projects/-w/ffffffff-0001.jsonl", 0, newer);
    sandbox
}

fn killed_file(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(killed_path())).unwrap()
}

#[test]
fn the_plan_names_what_is_repaired_and_what_is_skipped() {
    let sandbox = damaged_home();
    let before = killed_file(&sandbox);
    let ran = sandbox.run(&["fix", "--broken", "--dry-run"]);
    assert_eq!(ran.code, 2, "one cannot be read: {}", ran.all());
    assert!(ran.out.starts_with("Would repair 3 of 8 sessions, and skip 1:\n"), "{}", ran.all());
    let lines: Vec<&str> = ran.out.lines().skip(1).collect();
    assert_eq!(lines.iter().filter(|line| line.starts_with("  repair  ")).count(), 3);
    for seen in lines.iter().filter_map(|line| line.split_once("the agent sees ")) {
        let counts: Vec<&str> = seen.1.split(" messages instead of ").map(str::trim).collect();
        assert_ne!(counts.first(), counts.last(), "{}", ran.out);
    }
    let skipped = lines.iter().find(|line| line.starts_with("  skip    ")).unwrap();
    assert!(skipped.contains("ffffffff") && skipped.contains("9.9.9"), "{skipped}");
    assert!(ran.err.contains("Would fix 3 findings in 3 files"), "{}", ran.err);
    assert_eq!(killed_file(&sandbox), before, "nothing is written");
}

#[test]
fn the_plan_names_sessions_as_the_list_does() {
    let sandbox = Sandbox::new();
    let folder = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks";
    let sound = r#"[{"role":"user","content":[{"type":"text","text":"go"}],"ts":1767225599000}]"#;
    let torn = &sound[..sound.len() - 1];
    for (id, content) in [("1767225599000", torn), ("1767225599001", sound)] {
        sandbox.keep(&format!("{folder}/{id}/api_conversation_history.json"), 1, content);
    }
    let plan = sandbox.run(&["fix", "--broken", "--dry-run"]);
    let line = plan.out.lines().nth(1).unwrap();
    let id = line.split_whitespace().nth(1).unwrap();
    assert_eq!(id, "1767225599000", "{}", plan.all());
    assert_eq!(sandbox.run(&["show", id]).code, 0, "one session has this id");
}

#[test]
fn without_a_terminal_nothing_is_repaired_unless_yes_is_given() {
    let sandbox = home();
    let before = killed_file(&sandbox);
    let ran = sandbox.run(&["fix", "--broken"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("there is no terminal"), "{}", ran.err);
    assert!(ran.err.contains("`foxwedge fix --broken --yes`"), "{}", ran.err);
    assert_eq!(killed_file(&sandbox), before);
}

#[test]
fn every_broken_session_is_repaired_and_can_be_restored_at_once() {
    let sandbox = home();
    let before = killed_file(&sandbox);
    let ran = sandbox.run(&["fix", "--broken", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("Repaired 3 sessions.\n"), "{}", ran.err);
    assert!(ran.err.contains("Fixed 3 findings in 3 files"), "{}", ran.err);
    assert_ne!(killed_file(&sandbox), before);
    let listed = sandbox.run(&["list", "--broken"]);
    assert!(listed.err.starts_with("No matching sessions"), "{}", listed.all());
    let again = sandbox.run(&["fix", "--broken", "--yes"]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert_eq!(again.err, "7 sessions: nothing to repair.\n", "{}", again.all());
    let again = sandbox.run(&["fix", "--broken", "--dry-run"]);
    let plan = "exit 0\n--- stdout\n7 sessions: nothing to repair.\n--- stderr\n";
    assert_eq!(again.all(), plan);
    // The command that the summary names restores all of them.
    let command = ran.err.split('`').find(|text| text.starts_with("foxwedge undo --since"));
    let words: Vec<&str> = command.unwrap().split(' ').skip(1).collect();
    let undone = sandbox.run(&words);
    assert_eq!(undone.code, 0, "{}", undone.all());
    assert_eq!(undone.err.matches("restored").count(), 3, "{}", undone.err);
    assert_eq!(killed_file(&sandbox), before);
    let undone = sandbox.run(&["undo", "--since", "1h"]);
    assert!(undone.err.contains("No file was fixed since then"), "{}", undone.all());
}

#[test]
fn one_session_that_cannot_be_written_does_not_stop_the_others() {
    let sandbox = home();
    let codex = sandbox
        .home()
        .join(format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX}.jsonl"));
    let mut permissions = fs::metadata(&codex).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&codex, permissions).unwrap();
    let ran = sandbox.run(&["fix", "--broken", "--yes"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("Repaired 2 sessions, skipped 1."), "{}", ran.err);
    assert!(ran.err.contains("error: "), "{}", ran.err);
}

#[test]
fn programs_get_every_step() {
    let sandbox = home();
    let ran = sandbox.run(&["fix", "--broken", "--yes", "--output-format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["summary"]["fixed"], 3, "{document}");
    assert!(document["edits"].as_array().unwrap().len() >= 3, "{document}");
}

#[test]
fn only_the_sessions_of_one_agent_are_repaired() {
    let sandbox = home();
    let ran = sandbox.run(&["fix", "--broken", "--yes", "--agent", "codex"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("Repaired 1 session."), "{}", ran.err);
    assert_eq!(sandbox.run(&["fix", "--broken", "x.jsonl"]).code, 2);
    // A session that is named is repaired without a question, so `-y` changes nothing.
    let ran = sandbox.run(&["fix", "-y", CLAUDE]);
    assert_eq!(ran.code, 0, "{}", ran.all());
}

#[test]
fn a_database_that_cannot_be_read_is_an_error_of_its_own() {
    let sandbox = home();
    sandbox.keep(".local/share/goose/sessions/sessions.db", 1, "SQLite format 3\0");
    let error = "sessions.db: cannot be read: ";
    for (arguments, code) in [
        (&["check", "--all"][..], 2),
        (&["check", "--all", "--quiet"], 2),
        (&["check", "--agent", "goose"], 2),
        (&["fix", "--broken", "--dry-run"], 2),
        (&["fix", "--broken", "--yes"], 2),
        (&["fix", "--broken", "--yes"], 2),
        (&["check", "--agent", "codex"], 0),
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.all());
        let named = ran.err.lines().filter(|line| line.contains(error)).count();
        assert_eq!(named, usize::from(code == 2), "{arguments:?}: {}", ran.all());
        assert!(code == 0 || ran.err.contains("error: "), "{arguments:?}: {}", ran.all());
    }
    let ran = sandbox.run(&["fix", "--broken", "--yes", "--output-format", "json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}
