//! Session files are repaired in place; what a repair does not need to touch keeps its bytes.

use std::fs;

use crate::{
    homes,
    sandbox::{Sandbox, names},
    sessions_files::{Script, killed, parallel, sound},
};

/// Session files that need a repair.
fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let begin = sound().text();
    let mut latin = begin.clone().into_bytes();
    let at = begin.find("a.txt").unwrap();
    latin[at] = 0xe4;
    let open = sound().calls("msg_3", "toolu_2").text();
    vec![
        ("killed while a tool ran", killed().text().into_bytes()),
        ("killed, then went on", killed().user("hello?").says("msg_4", "Yes.").text().into_bytes()),
        ("torn", killed().text().as_bytes()[..begin.len() + 100].to_vec()),
        ("torn in the middle", [&begin, "{\"type\":\"us\n", open.as_str()].concat().into_bytes()),
        ("zeros at the end", [begin.as_str(), &"\0".repeat(300)].concat().into_bytes()),
        ("zeros before a record", begin.replacen('{', "\0\0\0{", 1).into_bytes()),
        ("not UTF-8", latin),
        ("no line break at the end", killed().text().trim_end().as_bytes().to_vec()),
    ]
}

#[test]
fn every_broken_session_is_fixed_once_and_put_back() {
    for (what, content) in broken() {
        let sandbox = Sandbox::with("s.jsonl", &content);
        let ran = sandbox.run(&["fix", "s.jsonl"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{what}: {}", ran.all());
        let fixed = fs::read(sandbox.path("s.jsonl")).unwrap();
        assert_ne!(fixed, content, "{what}");
        let again = sandbox.run(&["fix", "s.jsonl"]);
        assert!(again.code == 0 && again.err.contains("All valid"), "{what}: {}", again.all());
        assert_eq!(fs::read(sandbox.path("s.jsonl")).unwrap(), fixed, "{what}: a second run");
        assert_eq!(names(&sandbox.backups()).len(), 2, "{what}: one backup and its manifest");
        assert_eq!(sandbox.names(), ["s.jsonl"], "{what}: nothing is left beside the file");
        assert_eq!(sandbox.run(&["undo", "s.jsonl"]).code, 0, "{what}");
        assert_eq!(fs::read(sandbox.path("s.jsonl")).unwrap(), content, "{what}: undone");
    }
}

#[test]
fn a_pipe_gives_what_the_file_would_be() {
    for (what, content) in broken() {
        let sandbox = Sandbox::with("s.jsonl", &content);
        let piped = sandbox.pipe(&["fix", "-"], &content);
        assert_eq!(piped.code, 0, "{what}: {}", piped.err);
        sandbox.run(&["fix", "s.jsonl"]);
        assert_eq!(piped.out, sandbox.read("s.jsonl"), "{what}");
    }
    for script in [sound(), parallel()] {
        let ran = Sandbox::new().pipe(&["fix", "-"], script.text());
        assert_eq!((ran.code, ran.out), (0, script.text()));
    }
}

#[test]
fn lines_that_no_repair_needs_keep_their_bytes() {
    // Odd spacing, numbers spelled oddly, and records of kinds that nobody knows.
    let odd = [
        r#"{"type":"from-the-future", "uuid" : "q", "sessionId":"x", "n": 1.0e+00, "u":"\u00e4"}"#,
        r#"  {"type":"file-history-snapshot","messageId":"m","snapshot":{}}  "#,
        "[1, 2,   3]",
    ];
    let text = Script::new().line(odd[0]).line(odd[1]).text() + &killed().line(odd[2]).text();
    let sandbox = Sandbox::with("s.jsonl", &text);
    let ran = sandbox.run(&["fix", "s.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let fixed = sandbox.read("s.jsonl");
    let new: Vec<&str> = fixed.lines().filter(|line| !text.contains(line)).collect();
    assert_eq!(new.len(), 1, "one record is new: {new:#?}");
    let kept: Vec<&str> = fixed.lines().filter(|line| !new.contains(line)).collect();
    assert_eq!(kept, text.lines().collect::<Vec<_>>(), "all others are as they were");
}

#[test]
fn sound_sessions_are_not_touched() {
    for script in [sound(), parallel()] {
        let sandbox = Sandbox::with("s.jsonl", script.text());
        let before = fs::metadata(sandbox.path("s.jsonl")).unwrap().modified().unwrap();
        assert_eq!(sandbox.run(&["fix", "s.jsonl"]).code, 0);
        assert_eq!(sandbox.read("s.jsonl"), script.text());
        let after = fs::metadata(sandbox.path("s.jsonl")).unwrap().modified().unwrap();
        assert_eq!(after, before);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
}

#[test]
fn a_diff_shows_records_and_writes_nothing() {
    for (what, content) in broken() {
        let sandbox = Sandbox::with("s.jsonl", &content);
        let ran = sandbox.run(&["check", "--diff", "s.jsonl"]);
        assert_eq!(ran.code, 1, "{what}: {}", ran.all());
        assert!(ran.out.starts_with("--- s.jsonl\n+++ s.jsonl\n@@ line "), "{what}: {}", ran.out);
        assert!(ran.err.contains("no file was changed"), "{what}: {}", ran.err);
        assert_eq!(fs::read(sandbox.path("s.jsonl")).unwrap(), content, "{what}");
    }
}

#[test]
fn two_fixes_are_undone_one_by_one() {
    let text = [killed().text(), "{\"type\":\"us".to_owned()].concat();
    let sandbox = Sandbox::with("s.jsonl", &text);
    sandbox.run(&["fix", "--select", "FW801", "s.jsonl"]);
    let first = sandbox.read("s.jsonl");
    assert_eq!(sandbox.run(&["fix", "s.jsonl"]).code, 0);
    let second = sandbox.read("s.jsonl");
    assert!(text != first && first != second);
    assert_eq!(sandbox.run(&["undo", "s.jsonl"]).code, 0);
    assert_eq!(sandbox.read("s.jsonl"), first);
    assert_eq!(sandbox.run(&["undo", "s.jsonl"]).code, 0);
    assert_eq!(sandbox.read("s.jsonl"), text);
    assert_eq!(sandbox.run(&["undo", "s.jsonl"]).code, 2);
}

#[test]
fn nothing_is_fixed_that_was_not_named() {
    let sandbox = Sandbox::with("home/.claude/projects/-w/s.jsonl", killed().text());
    let home = sandbox.path("home");
    let table: [&[&str]; 3] =
        [&["fix", "--all"], &["fix", "--agent", "claude-code"], &["check", "--fix", "--all"]];
    for arguments in table {
        let ran = sandbox.run_with("HOME", &home.to_string_lossy(), arguments);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("`fix` needs a target"), "{}", ran.err);
        assert!(ran.err.contains("help: nothing was changed"), "{}", ran.err);
    }
    assert_eq!(sandbox.read("home/.claude/projects/-w/s.jsonl"), killed().text());
}

/// A session of the newest Codex, whose lines can be damaged.
fn codex_lines() -> Vec<Vec<u8>> {
    let text = homes::codex(homes::CODEX).replace("0.46.0", "0.166.0");
    text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect()
}

#[test]
fn a_record_with_stray_bytes_between_its_parts_is_kept() {
    let clean = codex_lines();
    for line in 0..clean.len() {
        let mut lines = clean.clone();
        let at = lines[line].iter().position(|byte| *byte == b',').unwrap();
        lines[line].splice(at..at, [0xff, 0xc3]);
        let sandbox = Sandbox::with("s.jsonl", lines.concat());
        let checked = sandbox.run(&["check", "s.jsonl"]);
        assert!(checked.all().contains("FW801"), "line {line}: {}", checked.all());
        let ran = sandbox.run(&["fix", "s.jsonl"]);
        assert_eq!(ran.code, 0, "line {line}: {}", ran.all());
        assert!(ran.err.contains("its record stays"), "line {line}: {}", ran.err);
        assert_eq!(sandbox.read("s.jsonl").into_bytes(), clean.concat(), "line {line}");
    }
}

#[test]
fn a_torn_line_that_is_not_utf8_is_not_removed_unsaid() {
    let mut lines = codex_lines();
    let mut torn = lines[2].clone();
    torn.truncate(torn.len() / 2);
    torn.extend(b"\xff\n");
    lines.insert(3, torn.clone());
    let sandbox = Sandbox::with("s.jsonl", lines.concat());
    // Codex leaves out a torn line, but not one that is no UTF-8.
    let ran = sandbox.run(&["fix", "s.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(!ran.err.contains("is removed"), "{}", ran.err);
    lines[3] = String::from_utf8_lossy(&torn).into_owned().into_bytes();
    assert_eq!(sandbox.read("s.jsonl").into_bytes(), lines.concat());
    // What a provider needs removed is removed, and the report says so.
    sandbox.write("s.jsonl", lines.concat());
    let ran = sandbox.run(&["fix", "--for-api", "s.jsonl"]);
    assert!(ran.err.contains("line 4 is removed"), "{}", ran.all());
}
