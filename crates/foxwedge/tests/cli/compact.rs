//! Conversations become shorter, in place or in a pipe, and stay whole.

use serde_json::Value;

use crate::{
    compact_documents::*,
    documents::CHAT,
    sandbox::{Ran, Sandbox, names},
};

/// Every way to make something shorter.
const STRATEGIES: [&[&str]; 7] = [
    &["--fraction", "0.5"],
    &["--strategy", "window", "--budget", "3k"],
    &["--strategy", "budget", "--budget", "3k"],
    &["--strategy", "elide", "--budget", "4k"],
    &["--strategy", "importance", "--budget", "3k"],
    &["--strategy", "summarize", "--budget", "3k"],
    &["--budget", "3k"],
];

fn both() -> [(&'static str, String); 2] {
    [("chat.json", chat(40)), ("anthropic.json", anthropic(40))]
}

pub(crate) fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.all()))
}

fn tokens(report: &Value, when: &str) -> u64 {
    report[when]["tokens"].as_u64().unwrap()
}

#[test]
fn every_strategy_makes_it_shorter_and_sound_and_can_be_undone() {
    for (name, content) in both() {
        for flags in STRATEGIES {
            let sandbox = Sandbox::with(name, &content);
            let fixed = ["compact", name, "--output-format", "json", "--tokens", "estimate"];
            let arguments = [&fixed[..], flags].concat();
            let ran = sandbox.run(&arguments);
            assert_eq!(ran.code, 0, "{name} {flags:?}: {}", ran.all());
            let report = report(&ran);
            assert_eq!(report["changed"], true);
            let (before, after) = (tokens(&report, "before"), tokens(&report, "after"));
            assert!(after < before, "{name} {flags:?}: {before} {after}");
            if let Some(most) = report["limits"]["most"].as_u64() {
                assert!(before > most && after <= most, "{name} {flags:?}: {after} of {most}");
            }
            let shorter = sandbox.read(name);
            assert!(shorter.len() < content.len());
            let check = sandbox.run(&["check", name]);
            assert_eq!(check.code, 0, "{name} {flags:?}: {}", check.all());
            assert_eq!(sandbox.names(), [name], "nothing is left beside the file");
            assert_eq!(sandbox.run(&["undo", name]).code, 0);
            assert_eq!(sandbox.read(name), content);
        }
    }
}

#[test]
fn what_became_short_enough_stays_as_it_is() {
    for (name, content) in both() {
        let sandbox = Sandbox::with(name, content);
        let arguments = ["compact", name, "--budget", "3k"];
        assert_eq!(sandbox.run(&arguments).code, 0);
        let shorter = sandbox.read(name);
        let again = sandbox.run(&arguments);
        assert_eq!(again.code, 0);
        assert!(again.out.contains(" of 3 000 tokens: nothing to do"), "{}", again.all());
        assert_eq!(sandbox.read(name), shorter);
        assert_eq!(names(&sandbox.backups()).len(), 2, "one backup and its manifest");
    }
}

#[test]
fn a_window_that_is_known_is_room_enough() {
    let (name, content) = ("chat.json", chat(40));
    let sandbox = Sandbox::with(name, &content);
    let ran = sandbox.run(&["compact", name]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    assert!(ran.out.contains(" of 100 454 tokens: nothing to do (counted with o200k)"));
    assert_eq!(sandbox.read(name), content);
    assert_eq!(names(&sandbox.backups()).len(), 0);
    // A smaller one is not.
    let ran = sandbox.run(&["compact", name, "--window", "8k", "--dry-run"]);
    assert!(
        ran.out.contains("5 400 allowed; goal 3 600; window 8 000, 2 000 reserved"),
        "{}",
        ran.out
    );
}

#[test]
fn a_pipe_carries_the_document_and_the_report_goes_beside() {
    for (name, content) in both() {
        let sandbox = Sandbox::new();
        let ran = sandbox.pipe(&["compact", "-", "--budget", "3k"], &content);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.err.contains("3 000 allowed") && ran.err.contains("elide"), "{}", ran.err);
        serde_json::from_str::<Value>(&ran.out).unwrap();
        // The file of the same says the same.
        let other = Sandbox::with(name, &content);
        other.run(&["compact", name, "--budget", "3k"]);
        assert_eq!(other.read(name), ran.out);
        // Without a target, the pipe is meant.
        assert_eq!(sandbox.pipe(&["compact", "--budget", "3k"], &content).out, ran.out);
        // What is short enough passes as it came.
        let idle = sandbox.pipe(&["compact", "-", "--budget", "1m"], &content);
        assert_eq!((idle.code, idle.out), (0, content));
        assert!(idle.err.contains("nothing to do"));
    }
}

#[test]
fn a_dry_run_and_a_diff_write_nothing() {
    let (name, content) = ("chat.json", chat(40));
    let sandbox = Sandbox::with(name, &content);
    for flag in ["--dry-run", "--diff"] {
        let ran = sandbox.run(&["compact", name, "--budget", "3k", flag]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        let said = if flag == "--diff" { &ran.err } else { &ran.out };
        assert!(said.contains("Nothing was written."), "{}", ran.all());
        assert_eq!(ran.out.starts_with("--- chat.json\n+++ chat.json\n@@"), flag == "--diff");
        assert_eq!(sandbox.read(name), content);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
    let ran = sandbox.pipe(&["compact", "-", "--budget", "3k", "--dry-run"], &content);
    assert!(ran.out.contains("Nothing was written.") && ran.err.is_empty(), "{}", ran.all());
}

#[test]
fn what_is_not_sound_is_repaired_first() {
    let content = chat(40);
    // The answer of the third call is lost.
    let mut broken: Value = serde_json::from_str(&content).unwrap();
    broken["messages"].as_array_mut().unwrap().remove(7);
    let broken = serde_json::to_string_pretty(&broken).unwrap();
    let sandbox = Sandbox::with("chat.json", &broken);
    let ran = sandbox.run(&["compact", "chat.json", "--budget", "4k", "--strategy", "elide"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("repaired    first, because the history was invalid:"), "{}", ran.out);
    assert!(ran.out.contains("FW101 messages[6]"), "{}", ran.out);
    assert!(sandbox.read("chat.json").contains("[foxwedge] Interrupted"));
    assert_eq!(sandbox.run(&["check", "chat.json"]).code, 0);
    assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
    assert_eq!(sandbox.read("chat.json"), broken);
    // Where there is nothing to do, nothing is repaired either; but it is told.
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["compact", "chat.json", "--budget", "4k"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.out.contains("It is not valid: `foxwedge fix chat.json` repairs it"),
        "{}",
        ran.out
    );
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn pinned_messages_stay() {
    let (name, content) = ("chat.json", chat(40));
    for (pin, kept) in [("8", true), ("", false)] {
        let sandbox = Sandbox::with(name, &content);
        let flags: &[&str] = if pin.is_empty() { &[] } else { &["--pin", pin] };
        let arguments = [&["compact", name, "--strategy", "budget", "--budget", "4k"], flags];
        let ran = sandbox.run(&arguments.concat());
        assert_eq!(ran.code, 0, "{}", ran.all());
        let shorter = sandbox.read(name);
        assert_eq!(shorter.contains("\"call_3\"") && shorter.contains("Step 3."), kept);
        assert_eq!(ran.out.contains("8–9 (pinned)"), kept, "{}", ran.out);
    }
}

#[test]
fn tools_have_rules_of_their_own() {
    let (name, content) = ("chat.json", chat(40));
    let shrunk = |flags: &[&str]| -> Vec<(String, String)> {
        let sandbox = Sandbox::with(name, &content);
        let fixed = ["compact", name, "--strategy", "elide", "--budget", "10k", "--dry-run"];
        let ran = sandbox.run(&[&fixed, flags, &["--output-format", "json"]].concat());
        let report = report(&ran);
        let shrunk = report["strategies"][0]["shrunk"].as_array().unwrap();
        let told =
            |one: &Value| (one["tool"].as_str().unwrap().to_owned(), one["keep"].to_string());
        shrunk.iter().map(told).collect()
    };
    let any = |told: &[(String, String)], tool: &str| told.iter().any(|(name, _)| name == tool);
    assert!(any(&shrunk(&[]), "Read"));
    assert!(!any(&shrunk(&["--keep-tool", "Rea*"]), "Read"));
    let cleared = shrunk(&["--clear-tool", "Grep,Bash"]);
    assert!(cleared.iter().filter(|(tool, _)| tool == "Grep").all(|(_, keep)| keep == "\"note\""));
    // Who names the tool means more than who names many.
    assert!(any(&shrunk(&["--keep-tool", "*", "--clear-tool", "Read"]), "Read"));
    assert!(shrunk(&["--ends", "50"]).iter().any(|(_, keep)| keep == "{\"ends\":50}"));
}
