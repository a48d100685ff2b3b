//! What a fix replaced can be put back.

use std::fs;

use crate::{
    documents::*,
    sandbox::{Sandbox, names},
};

#[test]
fn fix_and_undo_are_a_round_trip() {
    for (name, content) in BROKEN {
        let sandbox = Sandbox::with(name, content);
        assert_eq!(sandbox.run(&["fix", name]).code, 0);
        let ran = sandbox.run(&["undo", name]);
        assert_eq!(ran.all(), format!("exit 0\n--- stdout\n--- stderr\nrestored {name}\n"));
        assert_eq!(sandbox.read(name), content);
        assert_eq!(sandbox.run(&["undo", name]).code, 2, "there is nothing left to undo");
        assert_eq!(sandbox.read(name), content);
    }
}

#[test]
fn several_fixes_are_undone_one_by_one() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.run(&["fix", "--select", "FW102", "chat.json"]);
    let first = sandbox.read("chat.json");
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), first);
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn all_fixes_of_a_file_since_a_time_are_undone() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.run(&["fix", "--select", "FW102", "chat.json"]);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    let ran = sandbox.run(&["undo", "--since", "1h"]);
    assert_eq!((ran.code, ran.err.matches("restored").count()), (0, 2), "{}", ran.all());
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn a_dry_run_lists_what_would_be_restored_and_writes_nothing() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.run(&["fix", "--select", "FW102", "chat.json"]);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    let (fixed, before) = (sandbox.read("chat.json"), sandbox.run(&["undo", "--list"]).out);
    for (arguments, count) in [
        (&["undo", "chat.json", "--dry-run"][..], 1),
        (&["undo", "chat.json", "--dry-run", "--force"], 1),
        (&["undo", "--since", "1h", "--dry-run"], 2),
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.out.lines().count()), (0, count), "{}", ran.all());
        assert!(ran.err.contains(" would be restored; nothing was changed.\n"), "{}", ran.err);
        assert_eq!(sandbox.read("chat.json"), fixed, "{arguments:?}");
        assert_eq!(sandbox.run(&["undo", "--list"]).out, before, "{arguments:?}");
    }
    // What a restore would refuse, the dry run refuses.
    sandbox.write("chat.json", "[]");
    let ran = sandbox.run(&["undo", "chat.json", "--dry-run"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
    assert!(ran.err.contains("changed since it was fixed"), "{}", ran.err);
}

#[test]
fn an_age_is_refused_where_nothing_is_pruned() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    let fixed = sandbox.read("chat.json");
    for arguments in [
        &["undo", "chat.json", "--older-than", "30d"][..],
        &["undo", "--since", "1h", "--older-than", "30d"],
        &["undo", "--list", "--older-than", "30d"],
        &["undo", "--older-than", "30d"],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {}", ran.all());
        assert!(ran.err.contains("--older-than"), "{arguments:?} {}", ran.err);
        assert_eq!(sandbox.read("chat.json"), fixed, "{arguments:?}");
    }
}

#[test]
fn a_file_that_changed_since_is_kept() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    sandbox.write("chat.json", "[\"new\"]");
    let ran = sandbox.run(&["undo", "chat.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("changed since it was fixed") && ran.err.contains("--force"));
    assert_eq!(sandbox.read("chat.json"), "[\"new\"]");
    assert_eq!(sandbox.run(&["undo", "--force", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), CHAT);
    // What was there is not lost either.
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), "[\"new\"]");
}

#[test]
fn the_list_names_every_backup() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    assert_eq!(
        sandbox.run(&["undo", "--list"]).all(),
        "exit 0\n--- stdout\n--- stderr\nNo file was fixed yet.\n"
    );
    sandbox.write("gemini.json", GEMINI);
    sandbox.run(&["fix", "chat.json"]);
    sandbox.run(&["fix", "gemini.json"]);
    sandbox.run(&["undo", "chat.json"]);
    let ran = sandbox.run(&["undo", "--list"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains("fixed ") && lines[0].contains("gemini.json"), "{}", ran.out);
    assert!(lines[1].contains("undone ") && lines[1].contains("chat.json"), "{}", ran.out);
}

#[test]
fn a_damaged_backup_is_not_put_back() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.run(&["fix", "chat.json"]);
    let fixed = sandbox.read("chat.json");
    let backup = names(&sandbox.backups()).into_iter().find(|name| name.ends_with(".bak")).unwrap();
    fs::write(sandbox.backups().join(backup), "gone").unwrap();
    let ran = sandbox.run(&["undo", "chat.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is damaged"), "{}", ran.err);
    assert_eq!(sandbox.read("chat.json"), fixed);
}

/// Makes a backup older, in its manifest.
fn age(sandbox: &Sandbox, days: u64) {
    for name in names(&sandbox.backups()).iter().filter(|name| name.ends_with(".json")) {
        let path = sandbox.backups().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        let created = manifest["created"].as_u64().unwrap();
        manifest["created"] = (created - days * 86400).into();
        fs::write(&path, manifest.to_string()).unwrap();
    }
}

fn copies(sandbox: &Sandbox) -> usize {
    names(&sandbox.backups()).iter().filter(|name| name.ends_with(".bak")).count()
}

#[test]
fn backups_are_pruned_but_the_newest_of_each_file_stays() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.write("gemini.json", GEMINI);
    assert_eq!(sandbox.run(&["fix", "gemini.json"]).code, 0);
    for _ in 0..3 {
        sandbox.write("chat.json", CHAT);
        assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    }
    age(&sandbox, 10);
    assert_eq!(copies(&sandbox), 4);
    let ran = sandbox.run(&["undo", "--prune"]);
    assert!(ran.err.starts_with("removed 0 backups"), "{}", ran.all());
    let ran = sandbox.run(&["undo", "--prune", "--older-than", "9d", "--dry-run"]);
    assert!(ran.err.starts_with("2 backups ("), "{}", ran.all());
    assert_eq!((ran.out.lines().count(), copies(&sandbox)), (2, 4), "{}", ran.all());
    let ran = sandbox.run(&["undo", "--prune", "--older-than", "9d"]);
    assert!(ran.err.starts_with("removed 2 backups"), "{}", ran.all());
    assert_eq!(copies(&sandbox), 2);
    assert_eq!(sandbox.run(&["undo", "--prune", "--older-than", "soon"]).code, 2);
    // What is left can be put back.
    assert_eq!(sandbox.run(&["undo", "chat.json", "gemini.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn backups_of_three_months_ago_go_with_the_next_fix() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.write("chat.json", CHAT);
        assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    }
    age(&sandbox, 91);
    sandbox.write("gemini.json", GEMINI);
    assert_eq!(sandbox.run(&["fix", "gemini.json"]).code, 0);
    assert_eq!(copies(&sandbox), 2, "the newest of each file");
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), CHAT);
}
