//! A file that somebody else is working on is left alone, and nothing anybody writes is lost.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{
    documents::CHAT,
    sandbox::{Sandbox, names},
    sessions_files::{ID, killed},
};

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).open(path).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_open_for_writing_is_left_alone() {
    for (name, content, fork) in
        [("s.jsonl", killed().text(), true), ("c.json", CHAT.into(), false)]
    {
        let sandbox = Sandbox::with(name, &content);
        let writer = append(&sandbox.path(name));
        let ran = sandbox.run(&["fix", name]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        let who = format!("process {} (`", std::process::id());
        assert!(ran.err.contains(&who), "{}", ran.err);
        assert!(ran.err.contains("has the file open for writing"), "{}", ran.err);
        assert!(ran.err.contains("help: nothing was changed"), "{}", ran.err);
        assert_eq!(ran.err.contains("`foxwedge fork "), fork, "{}", ran.err);
        assert_eq!(sandbox.read(name), content);
        assert_eq!((names(&sandbox.backups()).len(), sandbox.names().len()), (0, 1));
        assert_eq!(sandbox.run(&["check", name]).code, 1, "reading is fine");
        drop(writer);
        let reader = File::open(sandbox.path(name)).unwrap();
        assert_eq!(sandbox.run(&["fix", name]).code, 0, "a reader does not matter");
        drop(reader);
        let writer = append(&sandbox.path(name));
        let ran = sandbox.run(&["undo", name]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        drop(writer);
        assert_eq!(sandbox.run(&["undo", name]).code, 0);
        assert_eq!(sandbox.read(name), content);
    }
}

/// Claude Code says in a file of its own which process has which session.
fn register(sandbox: &Sandbox, process: u32, session: &str, more: &str) {
    let entry = format!(r#"{{"pid":{process},"sessionId":"{session}","cwd":"/w"{more}}}"#);
    sandbox.write(&format!("claude/sessions/{process}.json"), entry);
}

#[test]
fn a_live_session_of_claude_code_is_left_alone() {
    let ours = std::process::id();
    let table = [
        ("ours", ours, ID, "", 2),
        ("another session", ours, "22222222-2222-4333-8444-555555555555", "", 0),
        ("a process that is gone", u32::MAX, ID, "", 0),
        ("a number that was given out again", ours, ID, r#","procStart":"1""#, 0),
        ("a start that is told otherwise", ours, ID, r#","procStart":"Mon Jan  1""#, 2),
    ];
    for (what, process, session, more, expected) in table {
        if !cfg!(target_os = "linux") && expected == 0 && process == ours && session == ID {
            continue;
        }
        let sandbox = Sandbox::with("s.jsonl", killed().text());
        register(&sandbox, process, session, more);
        sandbox.write("claude/sessions/broken.json", "{");
        let home = sandbox.path("claude");
        let fix =
            || sandbox.run_with("CLAUDE_CONFIG_DIR", &home.to_string_lossy(), &["fix", "s.jsonl"]);
        let ran = fix();
        assert_eq!(ran.code, expected, "{what}: {}", ran.all());
        if expected == 2 {
            let live = format!("this session is live: process {ours}");
            assert!(ran.err.contains(&live), "{what}: {}", ran.err);
            assert!(ran.err.contains("`foxwedge fork "), "{what}: {}", ran.err);
            assert_eq!(sandbox.read("s.jsonl"), killed().text(), "{what}");
        }
    }
}

#[test]
fn a_live_session_is_known_by_the_folder_it_lies_in() {
    let name = format!("claude/projects/-w/{ID}.jsonl");
    let sandbox = Sandbox::with(&name, killed().text());
    register(&sandbox, std::process::id(), ID, "");
    let ran = sandbox.run(&["fix", &name]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert_eq!(sandbox.read(&name), killed().text());
}

#[test]
fn a_thread_that_codex_holds_is_left_alone() {
    let text = concat!(
        r#"{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"0199-ab","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.46.0","source":"cli"}}"#,
        "\n",
        r#"{"timestamp":"2026-01-02T03:04:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"list"}]}}"#,
        "\n",
        r#"{"timestamp":"2026-01-02T03:04:07.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_1"}}"#,
        "\n",
    );
    let sandbox = Sandbox::with("s.jsonl", text);
    sandbox.write("codex/thread-writer-locks/0199-ab.lock", "");
    let home = sandbox.path("codex");
    let fix = || sandbox.run_with("CODEX_HOME", &home.to_string_lossy(), &["fix", "s.jsonl"]);
    let lock = append(&home.join("thread-writer-locks/0199-ab.lock"));
    lock.lock().unwrap();
    let ran = fix();
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("this session is live: "), "{}", ran.err);
    assert!(ran.err.contains("holds its lock"), "{}", ran.err);
    assert_eq!(sandbox.read("s.jsonl"), text);
    lock.unlock().unwrap();
    // A file that nobody has locked means nothing.
    let ran = fix();
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_ne!(sandbox.read("s.jsonl"), text);
}

#[test]
fn two_fixes_at_once_leave_one_repaired_file() {
    let alone = Sandbox::with("s.jsonl", killed().text());
    assert_eq!(alone.run(&["fix", "s.jsonl"]).code, 0);
    for _ in 0..5 {
        let sandbox = Sandbox::with("s.jsonl", killed().text());
        let start = |_| {
            let mut command = sandbox.command(&["fix", "s.jsonl"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let mut done = 0;
        for child in children {
            let ran = child.wait_with_output().unwrap();
            let err = String::from_utf8_lossy(&ran.stderr).into_owned();
            match ran.status.code() {
                Some(0) => done += 1,
                Some(2) => {
                    let refused = ["is writing this file", "changed while"];
                    assert!(refused.iter().any(|words| err.contains(words)), "{err}");
                }
                _ => panic!("{err}"),
            }
        }
        assert!(done > 0);
        assert_eq!(sandbox.read("s.jsonl"), alone.read("s.jsonl"));
        assert_eq!(sandbox.names(), ["s.jsonl"]);
        assert_eq!(names(&sandbox.backups()).len(), 2, "one backup and its manifest");
        assert_eq!(sandbox.run(&["undo", "s.jsonl"]).code, 0);
        assert_eq!(sandbox.read("s.jsonl"), killed().text());
    }
}

/// Appends numbered lines as agents do: open, write one line, close. Some are torn, so that there
/// is always something to repair; those bear no number. In bursts, with pauses between.
fn write_lines(path: &Path, stop: &AtomicBool) -> usize {
    let mut lines = 0;
    let mut pause = 1;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..=pause % 4 {
            let line =
                format!("{{\"type\":\"queue-operation\",\"sessionId\":\"{ID}\",\"n\":{lines}}}\n");
            append(path).write_all(line.as_bytes()).unwrap();
            lines += 1;
        }
        append(path).write_all(b"{\"type\":\"us\n").unwrap();
        pause = pause * 7 % 151;
        thread::sleep(Duration::from_millis(pause));
    }
    lines
}

/// The numbers of the appended lines in a file, in their order.
fn numbers(text: &str) -> Vec<usize> {
    let number = |line: &str| line.rsplit_once("\"n\":")?.1.trim_end_matches('}').parse().ok();
    text.lines().filter_map(number).collect()
}

#[test]
fn lines_that_an_agent_appends_meanwhile_are_never_lost() {
    let sandbox = Sandbox::with("s.jsonl", killed().text());
    let path = sandbox.path("s.jsonl");
    let stop = AtomicBool::new(false);
    let (mut fixed, mut refused) = (0, 0);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| write_lines(&path, &stop));
        for _ in 0..rounds() {
            let ran = sandbox.run(&["check", "-q", "--output-format", "concise", "s.jsonl"]);
            assert!(ran.code < 2, "{}", ran.all());
            let ran = sandbox.run(&["fix", "-q", "--output-format", "concise", "s.jsonl"]);
            match ran.code {
                2 => {
                    let known = ["changed while it was being repaired", "open for writing"];
                    assert!(known.iter().any(|words| ran.err.contains(words)), "{}", ran.all());
                    refused += 1;
                }
                _ => fixed += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let found = numbers(&sandbox.read("s.jsonl"));
    assert_eq!(found, Vec::from_iter(0..written), "{fixed} fixed, {refused} refused");
    assert_eq!(sandbox.names(), ["s.jsonl"]);
    assert_eq!(sandbox.run(&["fix", "s.jsonl"]).code, 0, "once it is quiet, it can be repaired");
    assert_eq!(numbers(&sandbox.read("s.jsonl")), found);
}

/// `FOXWEDGE_ROUNDS` makes it a long campaign.
fn rounds() -> usize {
    std::env::var("FOXWEDGE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}
