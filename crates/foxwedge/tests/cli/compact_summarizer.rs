//! A command that summarizes may do anything: the conversation stays as it was unless it helps.

#![cfg(unix)]

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::{
    compact_documents::*,
    sandbox::{Ran, Sandbox, names},
};

const FLAGS: [&str; 6] = ["compact", "chat.json", "--strategy", "summarize", "--budget", "3k"];

fn summarized(sandbox: &Sandbox, command: &str, flags: &[&str]) -> Ran {
    sandbox.run(&[&FLAGS[..], &["--summarizer", command], flags].concat())
}

#[test]
fn a_command_reads_the_prompt_and_its_words_take_the_place_of_what_is_old() {
    let sandbox = Sandbox::with("chat.json", chat(40));
    let command = "cat >prompt.txt; echo 'We are half way.'";
    let ran = summarized(&sandbox, command, &[]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(
        ran.out.contains("tokens by `cat >prompt.txt; echo 'We are half way.'`"),
        "{}",
        ran.out
    );
    assert!(sandbox.read("chat.json").contains("We are half way."));
    let prompt = sandbox.read("prompt.txt");
    assert!(prompt.contains(WISH) && prompt.contains("Call: Edit"), "{prompt}");
    assert_eq!(sandbox.run(&["check", "chat.json"]).code, 0);
}

#[test]
fn a_command_that_does_not_listen_may_answer_all_the_same() {
    let sandbox = Sandbox::with("chat.json", chat(200));
    let ran = summarized(&sandbox, "exec </dev/null; echo short", &[]);
    assert_eq!(ran.code, 0, "{}", ran.all());
}

#[test]
fn a_summary_of_no_use_changes_nothing() {
    let table: [(&str, &str); 8] = [
        ("exit 3", "returned no summary: it ended with exit code 3"),
        ("echo no key >&2; exit 1", "it ended with exit code 1: no key"),
        ("not-a-command-anywhere", "it ended with exit code 127"),
        ("kill -9 $$", "it ended with signal: 9"),
        ("true", "the summary is empty"),
        ("printf ' \\n'", "the summary is empty"),
        ("printf '\\377\\376'", "its output is not valid UTF-8"),
        ("yes", "it printed more than 1000000 bytes and was stopped"),
    ];
    let content = chat(40);
    let long = "cat; cat chat.json";
    let table = table.into_iter().chain([(long, "the summary has ")]);
    for (command, expected) in table {
        let sandbox = Sandbox::with("chat.json", &content);
        let ran = summarized(&sandbox, command, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{command}: {}", ran.all());
        assert!(ran.err.contains(expected), "{command}: {}", ran.err);
        assert!(ran.err.contains("\n  help: nothing was changed"), "{}", ran.err);
        assert_eq!(sandbox.read("chat.json"), content);
        assert_eq!(sandbox.names(), ["chat.json"]);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
}

#[test]
fn a_command_that_hangs_is_stopped_with_everything_it_started() {
    let content = chat(40);
    let sandbox = Sandbox::with("chat.json", &content);
    let command = "sleep 600 & echo $! >child; wait";
    let ran = summarized(&sandbox, command, &["--summarizer-timeout", "1"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("it did not finish within 1 second and was stopped"), "{}", ran.err);
    assert_eq!(sandbox.read("chat.json"), content);
    ends(&sandbox.path("child"));
}

#[test]
fn whoever_stops_us_stops_the_command_too_and_the_file_is_as_it_was() {
    let content = chat(40);
    let sandbox = Sandbox::with("chat.json", &content);
    let command = "sleep 600 & echo $! >new; mv new child; wait";
    let mut ours = sandbox.command(&[&FLAGS[..], &["--summarizer", command]].concat());
    let mut ours = ours.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !sandbox.path("child").exists() {
        assert!(ours.try_wait().unwrap().is_none(), "it ended by itself");
        sleep(Duration::from_millis(5));
    }
    // Not the signal of Ctrl-C: who runs the tests may have switched that off.
    signal("-TERM", ours.id());
    assert_eq!(ours.wait().unwrap().signal(), Some(15));
    assert_eq!(sandbox.read("chat.json"), content);
    ends(&sandbox.path("child"));
}

fn signal(name: &str, process: u32) -> bool {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill \"$1\" \"$2\" 2>/dev/null", "sh", name]);
    kill.arg(process.to_string()).status().unwrap().success()
}

/// Waits until the process whose number is in a file is gone: a minute at most.
fn ends(file: &Path) {
    let number: u32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let is_alive = || match fs::read_to_string(format!("/proc/{number}/stat")) {
        // Dead and not yet buried is dead.
        Ok(stat) => !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
        Err(_) if Path::new("/proc/self/stat").exists() => false,
        Err(_) => signal("-0", number),
    };
    for _ in 0..6000 {
        if !is_alive() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    signal("-KILL", number);
    panic!("process {number} is still alive");
}
