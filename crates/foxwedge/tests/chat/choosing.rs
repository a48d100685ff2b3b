//! `foxwedge list -i` and the question of `fix --broken`, at a terminal.

use std::fs;

use crate::desk::Desk;

/// Two sessions: one whose call was never answered, and one that is fine.
fn desk() -> Desk {
    let desk = Desk::new();
    let folder = desk.folder.path(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let record = |kind: &str, id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"sessionId":"s","version":"2.1.112","cwd":"/w","message":{message}}}"#
        ) + "\n"
    };
    let user = |id, parent, text| {
        record("user", id, parent, &format!(r#"{{"role":"user","content":"{text}"}}"#))
    };
    let call = record(
        "assistant",
        "a1",
        "\"u1\"",
        r#"{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}"#,
    );
    let broken =
        user("u1", "null", "Which tests are slow?") + &call + &user("u2", "\"a1\"", "Well?");
    fs::write(folder.join("0a1b2c3d-0001-4000-8000-000000000001.jsonl"), broken).unwrap();
    let sound = user("u1", "null", "Write release notes.");
    fs::write(folder.join("1b2c3d4e-0001-4000-8000-000000000001.jsonl"), sound).unwrap();
    desk
}

fn start(desk: &mut Desk, arguments: &str) {
    let program = env!("CARGO_BIN_EXE_foxwedge");
    desk.shell(&format!("clear; '{program}' {arguments}; echo \"code=$?\""));
}

#[test]
fn a_session_is_filtered_chosen_and_repaired() {
    let mut desk = desk();
    start(&mut desk, "list -i");
    let shown = desk.see("2 of 2 · ↑↓ choose");
    assert!(shown.contains("! history missing"), "{shown}");
    desk.press("slow");
    desk.see("1 of 2");
    desk.press("\r");
    desk.see("claude-code 0a1b2c3d ›");
    desk.see("Repair it, and continue in claude");
    desk.press("\u{1b}[B\r");
    desk.see("Fixed 1 finding");
    desk.see("code=0");
}

#[test]
fn leaving_the_list_changes_nothing() {
    let mut desk = desk();
    start(&mut desk, "list -i");
    desk.see("2 of 2");
    desk.press("\r");
    desk.see("Show it");
    // Back to the list, and out of it.
    desk.press("\u{1b}");
    desk.see("2 of 2");
    desk.press("\u{3}");
    desk.see("code=0");
}

#[test]
fn every_broken_session_is_repaired_after_a_yes() {
    let mut desk = desk();
    start(&mut desk, "fix --broken");
    desk.see("Repair 1 session? [y/N]");
    desk.press("n\n");
    desk.see("Nothing was changed.");
    desk.see("code=1");
    start(&mut desk, "fix --broken");
    desk.see("Repair 1 session? [y/N]");
    desk.press("y\n");
    desk.see("Repaired 1 session.");
    desk.see("code=0");
}
