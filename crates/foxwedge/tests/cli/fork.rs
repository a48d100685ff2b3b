//! `foxwedge fork`: a copy that its agent finds, and an original that nobody touched.

use std::fs;

use crate::{
    homes::*,
    sandbox::{Sandbox, names},
};

/// Forks a session; returns the new id.
fn forked(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ran = sandbox.run(&[&["fork"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.starts_with("Copied to "), "{}", ran.err);
    ran.out.trim().to_owned()
}

#[test]
fn a_copy_is_repaired_and_found_and_the_original_is_as_it_was() {
    let sandbox = home();
    for id in [KILLED, CLAUDE, CODEX, GEMINI, NEOVATE] {
        let before = sandbox.run(&["resume", id]).out;
        let files = all(&sandbox);
        let new = forked(&sandbox, &[id]);
        assert_ne!(new, id);
        assert_eq!(sandbox.run(&["check", &new]).code, 0, "{id}");
        assert_eq!(sandbox.run(&["resume", &new]).out, before, "{id}");
        let listed = sandbox.run(&["list", "--output-format", "json"]).out;
        assert!(listed.contains(&format!("\"id\": \"{new}\"")), "{id}: {listed}");
        for (path, content) in files {
            assert!(fs::read(&path).unwrap() == content, "{}", path.display());
        }
    }
}

/// Every session file with its content.
fn all(sandbox: &Sandbox) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let ran = sandbox.run(&["check", "--all", "--show-files"]);
    ran.out.lines().map(|path| (path.into(), fs::read(path).unwrap())).collect()
}

#[test]
fn copies_of_copies_have_ids_of_their_own() {
    let sandbox = claude();
    let first = forked(&sandbox, &[CLAUDE]);
    let second = forked(&sandbox, &[CLAUDE]);
    let third = forked(&sandbox, &[&first]);
    assert!(first != second && second != third && first != third);
    // The same copy of the same session has the same id everywhere.
    assert_eq!(forked(&claude(), &[CLAUDE]), first);
}

#[test]
fn the_next_command_is_named() {
    let sandbox = home();
    let table = [
        (CLAUDE, "`cd /w && claude --resume "),
        (CODEX, "`codex resume "),
        (GEMINI, "gemini --resume "),
        (NEOVATE, "neovate --resume "),
    ];
    for (id, command) in table {
        let ran = sandbox.run(&["fork", id]);
        assert!(ran.err.contains(&format!("{command}{}", ran.out.trim())), "{}", ran.err);
    }
}

#[test]
fn nothing_is_ever_written_over() {
    let sandbox = claude();
    let new = "ffffffff-0001-4000-8000-000000000001";
    assert_eq!(forked(&sandbox, &[KILLED, "--id", new]), new);
    let ran = sandbox.run(&["fork", CLAUDE, "--id", new]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("is taken"), "{}", ran.err);
    sandbox.write("there.jsonl", "mine");
    let ran = sandbox.run(&["fork", CLAUDE, "-o", "there.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("already exists"), "{}", ran.err);
    assert_eq!((sandbox.read("there.jsonl").as_str(), sandbox.names().len()), ("mine", 1));
}

#[test]
fn an_id_that_the_agent_would_not_find_is_refused() {
    let sandbox = claude();
    for id in ["../../x", "mine", ""] {
        let ran = sandbox.run(&["fork", CLAUDE, "--id", id]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("is not a valid id for claude-code"), "{}", ran.err);
    }
    assert_eq!(names(&sandbox.home().join(".claude/projects/-w")).len(), 3);
}

#[test]
fn where_a_copy_would_not_be_found_it_needs_a_file() {
    let sandbox = home();
    for id in [CLINE, HELPER] {
        let ran = sandbox.run(&["fork", id]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("help: nothing was written; `-o FILE`"), "{}", ran.err);
        let file = format!("{id}.copy");
        forked(&sandbox, &[id, "-o", &file]);
        assert!(sandbox.path(&file).exists());
    }
    sandbox.write("odd.jsonl", codex(CODEX));
    let ran = sandbox.run(&["fork", "odd.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("cannot derive a file name for the copy"), "{}", ran.err);
    let ran = sandbox.pipe(&["fork", "-"], crate::documents::CHAT);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("this is not an agent session"), "{}", ran.err);
}

#[test]
fn a_copy_that_its_agent_cannot_open_is_no_success() {
    let sandbox = Sandbox::new();
    let text = codex(CODEX);
    let (_, headless) = text.split_once('\n').unwrap();
    let name = format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX}.jsonl");
    sandbox.keep(&name, 1, headless);
    let ran = sandbox.run(&["fork", CODEX]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.err.contains("codex cannot open the copy: FW801: "), "{}", ran.err);
    assert!(!ran.err.contains("resumes it"), "{}", ran.err);
}

#[test]
fn a_raw_copy_is_as_broken_as_the_original() {
    let sandbox = claude();
    let new = forked(&sandbox, &[KILLED, "--view", "raw"]);
    assert_eq!(sandbox.run(&["check", &new]).code, 1);
}

#[cfg(unix)]
#[test]
fn a_copy_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::MetadataExt;
    let sandbox = claude();
    forked(&sandbox, &[KILLED, "-o", "copy.jsonl"]);
    let mode = fs::metadata(sandbox.path("copy.jsonl")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_history_becomes_a_session_of_another_agent() {
    let sandbox = home();
    for id in [KILLED, CLAUDE, CODEX, GEMINI, NEOVATE, CLINE] {
        for (to, program) in [("claude-code", "claude"), ("codex", "codex"), ("pi", "pi")] {
            let ran = sandbox.run(&["fork", id, "--to", to]);
            assert_eq!(ran.code, 0, "{id} to {to}: {}", ran.all());
            let new = ran.out.trim();
            assert_ne!(new, id);
            let is_same = ran.err.starts_with("Copied to");
            let written = ran.err.contains(&format!("Written as a session of {to} to "));
            assert!(is_same || written, "{}", ran.err);
            assert!(ran.err.contains(program), "{}", ran.err);
            // Its agent finds it, and opens it whole.
            let listed = sandbox.run(&["list", "--agent", to, "--output-format", "json"]).out;
            let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
            let sessions = listed["sessions"].as_array().unwrap();
            let found = sessions.iter().find(|session| session["id"] == new).unwrap();
            assert_eq!(found["health"], "ok", "{id} to {to}: {found}");
            assert_eq!(found["findings"], serde_json::json!({}), "{id} to {to}: {found}");
            assert_eq!(sandbox.run(&["check", "--agent", to, new]).code, 0, "{id} to {to}");
        }
    }
}

#[test]
fn the_words_of_the_history_are_in_the_new_session() {
    let sandbox = home();
    let new = sandbox.run(&["fork", CODEX, "--to", "claude-code"]).out;
    let shown = sandbox.run(&["show", "--agent", "claude-code", new.trim()]).out;
    for words in ["what is in the shop?", "apples", "/w/shop"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn agents_without_new_sessions_say_why() {
    let sandbox = home();
    for (to, reason) in [
        ("opencode", "rows of a database"),
        ("cline", "through its own index"),
        ("gemini-cli", "are not written"),
    ] {
        let ran = sandbox.run(&["fork", CLAUDE, "--to", to]);
        assert!(ran.code == 2 && ran.err.contains(reason), "{}", ran.all());
    }
}
