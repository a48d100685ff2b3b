//! 0 clean or fixed, 1 findings remain, 2 something went wrong.

use crate::{documents::*, sandbox::Sandbox};

#[test]
fn every_way_to_end_has_its_code() {
    let sandbox = Sandbox::new();
    let files = [("sound.json", SOUND), ("chat.json", CHAT), ("unsafe.json", UNSAFE)];
    for (name, content) in files.into_iter().chain([("broken.json", "{")]) {
        sandbox.write(name, content);
    }
    let table: [(&[&str], i32); 21] = [
        (&["check", "sound.json"], 0),
        (&["check", "chat.json"], 1),
        (&["check", "chat.json", "sound.json"], 1),
        (&["check", "chat.json", "broken.json"], 2),
        (&["check", "chat.json", "missing.json"], 2),
        (&["check", "--exit-zero", "chat.json"], 0),
        (&["check", "--exit-zero", "broken.json"], 2),
        (&["check", "--select", "FW5", "chat.json"], 0),
        (&["check", "--ignore", "FW1", "chat.json"], 0),
        (&["check", "--select", "FW77", "chat.json"], 2),
        (&["check", "--profile", "nobody", "chat.json"], 2),
        (&["check", "--all", "chat.json"], 2),
        (&["check"], 2),
        (&[], 2),
        (&["--version"], 0),
        (&["check", "--show-files", "."], 0),
        (&["rule", "FW101"], 0),
        (&["rule", "FW999"], 2),
        (&["fix", "unsafe.json"], 1),
        (&["fix", "chat.json", "--exit-non-zero-on-fix"], 1),
        (&["fix", "chat.json", "--exit-non-zero-on-fix"], 0),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, expected, "{arguments:?}\n{}", ran.all());
    }
}

#[test]
fn mistakes_come_with_help() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let table: [(&[&str], &str, &str); 6] = [
        (
            &["check", "--select", "unanswerd-call", "chat.json"],
            "there is no rule",
            "did you mean FW101",
        ),
        (&["check", "--ignore", "banana", "chat.json"], "there is no rule", "foxwedge rules"),
        (&["check", "chat.jsn"], "no such file or folder", "did you mean `chat.json`?"),
        (&["check", "0f8b1c2e"], "no such file, folder or session", "a target is a file, a folder"),
        (&["rule", "FW1011"], "there is no rule", "did you mean FW101"),
        (&["undo", "chat.json"], "no fix of this file", "undo --list"),
    ];
    for (arguments, message, help) in table {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
        let line = ran.err.lines().find(|line| line.trim_start().starts_with("help:"));
        assert!(line.is_some_and(|line| line.contains(help)), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
#[cfg(unix)]
fn what_cannot_be_read_or_written_leads_to_a_next_step() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    std::os::unix::fs::symlink("gone.jsonl", sandbox.path("dangling.jsonl")).unwrap();
    for command in ["check", "show", "fix"] {
        let ran = sandbox.run(&[command, "dangling.jsonl"]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("a link to a file that does not exist"), "{}", ran.err);
        assert!(!ran.err.contains("did you mean"), "{}", ran.err);
    }
    for command in ["show", "export", "resume", "fork"] {
        let ran = sandbox.run(&[command, "/dev/null"]);
        assert!(ran.code == 2 && !ran.err.contains("foxwedge check"), "{}", ran.all());
        assert!(ran.err.contains("`… | foxwedge COMMAND -`"), "{}", ran.err);
    }
    let path = sandbox.path("chat.json");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let ran = sandbox.run(&["fix", "chat.json"]);
    assert!(ran.err.contains("`foxwedge fix - <FILE >NEW`"), "{}", ran.all());
}
