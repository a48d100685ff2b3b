//! What a compaction tells, to people and to programs.

use crate::{compact::report, compact_documents::*, sandbox::Sandbox};

#[test]
fn people_see_what_was_given_up() {
    let sandbox = Sandbox::with("chat.json", chat(60));
    let flags = ["--strategy", "elide,importance,budget", "--budget", "3k", "--pin", "2"];
    let ran = sandbox.run(&[&["compact", "chat.json"][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.starts_with("Compacted in place; backup: "), "{}", ran.err);
    assert!(!ran.out.contains('\u{1b}'), "no colours in a pipe");
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_cut_is_told_and_drawn() {
    let sandbox = Sandbox::with("anthropic.json", anthropic(30));
    let ran = sandbox.run(&["compact", "anthropic.json", "--fraction", "0.5", "--dry-run"]);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn colours_come_when_they_are_asked_for() {
    let sandbox = Sandbox::with("chat.json", chat(20));
    let arguments = ["compact", "chat.json", "--budget", "2k", "--dry-run", "--color", "always"];
    assert!(sandbox.run(&arguments).out.contains("\u{1b}[32m"));
    let ran = sandbox.run_with("NO_COLOR", "1", arguments.split_at(5).0);
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn programs_get_one_document() {
    let sandbox = Sandbox::with("chat.json", chat(40));
    let flags = ["--strategy", "importance", "--budget", "3k", "--output-format", "json"];
    let ran = sandbox.run(&[&["compact", "chat.json", "--dry-run"][..], &flags].concat());
    let document = report(&ran);
    let mut keys: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = [
        "after",
        "before",
        "changed",
        "counting",
        "dry_run",
        "format",
        "given_up",
        "held",
        "limits",
        "messages",
        "path",
        "prefix",
        "profile",
        "remaining",
        "repaired",
        "strategies",
        "version",
    ];
    assert_eq!(keys, expected);
    assert_eq!(document["dry_run"], true);
    assert_eq!(document["counting"]["name"], "o200k");
    assert_eq!(document["counting"]["exact"], true);
    assert_eq!(
        document["messages"].as_array().unwrap().len() as u64,
        document["before"]["messages"]
    );
    let strategy = &document["strategies"][0];
    assert_eq!(strategy["name"], "importance");
    assert_eq!(strategy["before"], document["before"]["tokens"]);
    assert_eq!(strategy["after"], document["after"]["tokens"]);
    let gone = &strategy["gone"][0];
    assert_eq!(gone["why"], "unimportant");
    assert!(gone["points"].is_u64() && gone["reasons"].is_array() && gone["tokens"].is_u64());
    let sum: u64 = document["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["left"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, document["after"]["tokens"].as_u64().unwrap());
    assert!(ran.out.starts_with("{\n  \"version\": 1,\n  \"path\": \"chat.json\""), "{}", ran.out);
}

#[test]
fn reports_go_where_they_are_wanted() {
    let sandbox = Sandbox::with("chat.json", chat(20));
    let flags = ["--budget", "2k", "--dry-run", "--output-file", "report.txt"];
    let arguments = [&["compact", "chat.json"][..], &flags].concat();
    let ran = sandbox.run(&arguments);
    assert_eq!(ran.all(), "exit 0\n--- stdout\n--- stderr\n");
    assert!(sandbox.read("report.txt").contains("2 000 allowed"));
    let ran = sandbox.run(&["compact", "chat.json", "--budget", "2k", "-q"]);
    assert_eq!(ran.all(), "exit 0\n--- stdout\n--- stderr\n");
}
