//! Sessions of agents become shorter: what is hidden stays in the file.

use crate::{compact_documents::*, sandbox::Sandbox};

const ID: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn a_session_is_compacted_by_its_id_and_put_back() {
    let sandbox = Sandbox::new();
    let content = claude_code(ID, 40);
    let path = sandbox.keep(&format!(".claude/projects/-x/{ID}.jsonl"), 2, &content);
    let read = || std::fs::read_to_string(&path).unwrap();
    let flags = ["--strategy", "budget", "--budget", "3k"];
    let ran = sandbox.run(&[&["compact", "11111111", "--dry-run"][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("claude-code, rules of anthropic"), "{}", ran.out);
    assert!(ran.out.contains("estimated, estimate-early-claude"), "{}", ran.out);
    assert_eq!(read(), content);
    let ran = sandbox.run(&[&["compact", "11111111"][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_ne!(read(), content);
    assert!(content.lines().all(|line| read().contains(&line[..60])), "nothing was taken out");
    assert_eq!(sandbox.run(&["check", "11111111"]).code, 0);
    let ran = sandbox.run(&[&["compact", "11111111"][..], &flags].concat());
    assert!(ran.out.contains("nothing to do"), "{}", ran.all());
    assert_eq!(sandbox.run(&["undo", "11111111"]).code, 0);
    assert_eq!(read(), content);
}

#[test]
fn a_broken_session_is_repaired_first() {
    let content = claude_code(ID, 40);
    // The last line is torn, as a kill leaves it.
    let torn = content.get(..content.len() - 40).unwrap();
    let sandbox = Sandbox::with("torn.jsonl", torn);
    let ran = sandbox.run(&["compact", "torn.jsonl", "--budget", "3k"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("repaired    first, because the history was invalid:"), "{}", ran.out);
    assert_eq!(sandbox.run(&["check", "torn.jsonl"]).code, 0);
    assert_eq!(sandbox.run(&["undo", "torn.jsonl"]).code, 0);
    assert_eq!(sandbox.read("torn.jsonl"), torn);
}

#[test]
fn a_compaction_is_taken_back_and_what_came_later_stays() {
    let content = claude_code(ID, 40);
    let sandbox = Sandbox::with("s.jsonl", &content);
    let ran = sandbox.run(&["compact", "s.jsonl", "--strategy", "budget", "--budget", "3k"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let compacted = sandbox.read("s.jsonl");
    let told = |sandbox: &Sandbox| sandbox.run(&["resume", "s.jsonl"]).out.lines().count();
    let short = told(&sandbox);
    let ran = sandbox.run(&["compact", "s.jsonl", "--rewind", "--dry-run"]);
    assert_eq!((ran.code, sandbox.read("s.jsonl")), (0, compacted), "{}", ran.all());
    let ran = sandbox.run(&["compact", "s.jsonl", "--rewind"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(sandbox.read("s.jsonl"), content);
    assert!(told(&sandbox) > short);
    let ran = sandbox.run(&["compact", "s.jsonl", "--rewind"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("no compaction by foxwedge"), "{}", ran.err);
}

#[test]
fn only_sessions_can_be_rewound() {
    let sandbox = Sandbox::with("chat.json", chat(4));
    let ran = sandbox.run(&["compact", "chat.json", "--rewind"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("help: `foxwedge undo FILE`"), "{}", ran.err);
}

#[test]
fn a_session_that_was_torn_since_is_repaired_and_rewound() {
    let content = claude_code(ID, 40);
    let sandbox = Sandbox::with("s.jsonl", &content);
    let flags = ["--strategy", "budget", "--budget", "3k"];
    let ran = sandbox.run(&[&["compact", "s.jsonl"][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    let torn = format!("{}{{\"type\":\"user\",\"mes", sandbox.read("s.jsonl"));
    sandbox.write("s.jsonl", torn);
    let ran = sandbox.run(&["compact", "s.jsonl", "--rewind"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("FW801"), "{}", ran.err);
    assert_eq!(sandbox.read("s.jsonl"), content);
}
