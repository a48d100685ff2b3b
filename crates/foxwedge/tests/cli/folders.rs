//! Folders are walked; what is no conversation is passed by.

use crate::{documents::*, sandbox::Sandbox};

fn tree() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("logs/a.json", CHAT);
    sandbox.write("logs/deep/er/b.json", SOUND);
    sandbox.write("logs/c.jsonl", SOUND.replace('\n', ""));
    sandbox.write("logs/package.json", r#"{"name":"x","version":"1"}"#);
    sandbox.write("logs/words.json", r#"{"messages":[{"id":"hello","text":"Hello"}]}"#);
    sandbox.write("logs/data.jsonl", "{\"instruction\":\"a\",\"input\":\"b\"}\n");
    sandbox.write("logs/picture.json", [0xff, 0xd8, 0xff]);
    sandbox.write("logs/empty.json", "");
    sandbox.write("logs/notes.txt", CHAT);
    for folder in ["node_modules", "target", ".hidden"] {
        sandbox.write(&format!("logs/{folder}/x.json"), CHAT);
    }
    sandbox
}

#[test]
fn conversations_are_found_and_others_are_counted() {
    let ran = tree().run(&["check", "logs", "--output-format", "concise"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.lines().all(|line| line.starts_with("logs/a.json:")), "{}", ran.out);
    assert_eq!(
        ran.err,
        "Found 3 findings in 1 of 3 files (14 messages), 5 files skipped: \
         3 fixable with `foxwedge fix logs/a.json`.\n"
    );
}

#[test]
fn a_few_skipped_files_are_named() {
    let sandbox = Sandbox::with("logs/package.json", r#"{"name":"x","version":"1"}"#);
    sandbox.write("logs/a.json", r#"{"messages":[{"role":"user","content":"x"}]}"#);
    let ran = sandbox.run(&["check", "logs"]);
    let note = "note: logs/package.json: skipped, it holds no conversation\n";
    assert!(ran.err.contains(note), "{}", ran.all());
    assert!(ran.err.contains("1 file skipped"), "{}", ran.err);
    let many = tree().run(&["check", "logs"]);
    assert_eq!(many.err.matches(": skipped, it holds").count(), 3, "{}", many.err);
    let quiet = sandbox.run(&["check", "--quiet", "logs"]);
    assert_eq!(quiet.err, "");
}

#[test]
fn files_are_listed_in_order_and_once() {
    let ran = tree().run(&["check", "--show-files", "logs/deep", "logs", "logs/deep/er/b.json"]);
    let expected = [
        "logs/deep/er/b.json",
        "logs/a.json",
        "logs/c.jsonl",
        "logs/data.jsonl",
        "logs/empty.json",
        "logs/package.json",
        "logs/picture.json",
        "logs/words.json",
    ];
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_named_file_has_to_be_a_conversation() {
    let sandbox = tree();
    for name in ["package.json", "words.json", "picture.json", "empty.json"] {
        let ran = sandbox.run(&["check", &format!("logs/{name}")]);
        // A list of messages without roles is read, and found wanting.
        let expected = if name == "words.json" { 1 } else { 2 };
        assert_eq!(ran.code, expected, "{name}: {}", ran.all());
    }
}

#[test]
fn a_torn_conversation_in_a_folder_is_an_error() {
    let sandbox = tree();
    sandbox.write("logs/torn.json", &CHAT[..CHAT.len() / 2]);
    let ran = sandbox.run(&["check", "logs"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: logs/torn.json:"), "{}", ran.err);
}

#[test]
fn a_whole_folder_is_fixed_and_put_back() {
    let sandbox = Sandbox::new();
    for number in 0..40 {
        sandbox.write(&format!("all/{number:02}.json"), CHAT);
    }
    let ran = sandbox.run(&["fix", "all"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("Fixed 120 findings in 40 files; 40 backups in"), "{}", ran.err);
    assert!(sandbox.run(&["check", "all"]).err.starts_with("All valid: 40 files, 360 messages"));
    assert_eq!(sandbox.run(&["undo", "all/07.json"]).code, 0);
    assert_eq!(sandbox.read("all/07.json"), CHAT);
}

#[test]
fn an_empty_folder_holds_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["check", "."]);
    assert_eq!(ran.all(), "exit 0\n--- stdout\n--- stderr\nNo conversations found.\n");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_opened_was_passed_over() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let sandbox = tree();
    sandbox.write("logs/locked/x.json", CHAT);
    let locked = sandbox.path("logs/locked");
    let set_mode = |mode| fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o000);
    // Who may read everything cannot see this; the walk itself is tested beside it.
    if fs::read_dir(&locked).is_err() {
        for target in ["logs", "logs/locked"] {
            let ran = sandbox.run(&["check", target]);
            assert_eq!(ran.code, 2, "{}", ran.all());
            let expected = "error: logs/locked: the folder cannot be read: ";
            assert!(ran.err.contains(expected), "{}", ran.err);
            assert!(!ran.err.contains("All valid"), "{}", ran.err);
        }
    }
    set_mode(0o755);
}
