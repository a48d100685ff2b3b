//! `foxwedge follow`: what an agent prints, told as one run.

use serde_json::Value;

use crate::{
    follow_live::Live,
    follow_streams::*,
    sandbox::{Ran, Sandbox},
};

/// A recording as people see it.
fn followed(name: &str) -> String {
    let sandbox = Sandbox::new();
    let Ran { code, out, err } = sandbox.pipe(&["follow", "--run", "run-1"], recording(name));
    timeless(&format!("exit {code}\n--- stdout\n{out}--- stderr\n{err}"))
}

#[test]
fn every_agent_is_followed() {
    for name in [
        "claude-code-2.1.325-parallel3-errors",
        "claude-code-2.1.325-interrupt-mid-tool",
        "claude-code-2.1.325-kill9-mid-tool",
        "claude-code-2.1.325-thinking-block",
        "claude-code-2.1.325-subagents-parallel",
        "claude-code-2.1.325-ask-user-question-denied",
        "claude-code-2.1.325-permission-deny",
        "claude-code-2.1.325-upstream-500",
        "codex-0.166.0-parallel3",
        "gemini-cli-0.61.0-parallel3",
        "qwen-code-0.15.10-parallel3",
    ] {
        insta::assert_snapshot!(name, followed(name));
    }
}

#[test]
fn no_recording_leaves_a_call_open() {
    let sandbox = Sandbox::new();
    for name in recordings() {
        let ran = sandbox.pipe(&["follow", "--as", "jsonl"], recording(&name));
        assert!(ran.code < 2, "{name}: {}", ran.all());
        sandbox.write("events.jsonl", &ran.out);
        let told = sandbox.run(&["runs", "replay", "events.jsonl"]);
        assert_eq!(told.code, 0, "{name}: {}", told.all());
        let truth: Value = serde_json::from_str(&told.out).unwrap();
        for run in truth["runs"].as_array().unwrap() {
            assert_eq!(run["phase"], "ended", "{name}");
            let calls = run["summary"]["calls"].as_u64().unwrap();
            let by_status = run["summary"]["byStatus"].as_object().unwrap();
            let sum: u64 = by_status.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(calls, sum, "{name}");
            let open = ["pending", "running", "awaiting_approval", "unknown"];
            assert!(open.iter().all(|status| by_status.get(*status).is_none()), "{name}");
        }
    }
}

#[test]
fn user_interfaces_get_frames_of_their_standard() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    let table = [
        (
            "jsonl",
            r#"{"type":"run-started","runId":"r","epoch":1,"seq":1,"#,
            r#""reason":"completed""#,
        ),
        ("agui", r#"{"type":"RUN_STARTED""#, r#"{"type":"RUN_FINISHED""#),
        ("ai-sdk", r#"{"type":"start""#, "[DONE]"),
        ("acp", r#"{"jsonrpc":"2.0","method":"#, r#""stopReason":"end_turn""#),
    ];
    for (format, first, last) in table {
        let ran = sandbox.run(&["follow", "s.jsonl", "--as", format, "--run", "r"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{format}: {}", ran.all());
        let lines: Vec<&str> = ran.out.lines().collect();
        assert!(lines.first().unwrap().starts_with(first), "{format}: {}", ran.out);
        assert!(lines.last().unwrap().contains(last), "{format}: {}", ran.out);
        let sse = sandbox.run(&["follow", "s.jsonl", "--as", format, "--run", "r", "--sse"]);
        let data: Vec<&str> =
            sse.out.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(data.len(), lines.len(), "{format}");
        let ids = sse.out.lines().filter(|line| line.starts_with("id: ")).count();
        assert_eq!(ids, lines.len(), "{format}");
    }
}

#[test]
fn the_session_of_frames_is_the_one_that_was_named() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    for (flags, session) in [(&["--session", "mine"][..], "mine"), (&[], SESSION)] {
        let ran = sandbox.run(&[&["follow", "s.jsonl", "--as", "agui"], flags].concat());
        let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
        assert_eq!(first["threadId"], session, "{}", ran.out);
    }
}

#[test]
fn a_line_is_told_before_the_next_one_comes() {
    let sandbox = Sandbox::new();
    let mut live = Live::start(&sandbox, &["follow", "-", "--run", "r"]);
    live.say(&init());
    live.hear("r · claude-code · m-1");
    live.say(&says("First things first."));
    live.hear("First things first.");
    live.say(&call("t1", "make"));
    live.say(&answer("t1", "ok"));
    live.hear("✓ Bash  make  done");
    live.say(&result("First things first."));
    live.close();
    let (code, out, err) = live.end();
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("✓ completed"), "{out}");
}

#[test]
fn only_ascii_is_written_where_nothing_else_can_be_shown() {
    let sandbox = Sandbox::with("s.jsonl", recording("claude-code-2.1.325-interrupt-mid-tool"));
    let ran = sandbox.run_with("LANG", "C", &["follow", "s.jsonl"]);
    assert!(ran.out.is_ascii(), "{}", ran.out);
    assert!(ran.out.contains("! Bash"), "{}", ran.out);
    let ran = sandbox.run_with("LANG", "C.UTF-8", &["follow", "s.jsonl"]);
    assert!(ran.out.contains("⚠ Bash"), "{}", ran.out);
}

#[test]
fn colours_are_for_terminals() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    let ran = sandbox.run(&["follow", "s.jsonl"]);
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
    let ran = sandbox.run(&["follow", "s.jsonl", "--color", "always"]);
    assert!(ran.out.contains('\u{1b}'), "{}", ran.out);
}

#[test]
fn exit_codes_say_how_it_went() {
    let sandbox = Sandbox::new();
    let table = [
        (whole(), 0),
        ([init(), says("Bye.")].concat(), 1),
        ([init(), result("")].concat(), 1),
        ([whole(), "half a li".to_owned()].concat(), 0),
        (String::new(), 2),
        ("no json\n".to_owned(), 2),
    ];
    for (input, code) in table {
        let ran = sandbox.pipe(&["follow"], &input);
        assert_eq!(ran.code, code, "{input}\n{}", ran.all());
    }
    let torn = [whole(), "half a li".to_owned()].concat();
    let ran = sandbox.pipe(&["follow", "--strict"], &torn);
    assert_eq!(ran.code, 1, "{}", ran.all());
    let ran = sandbox.pipe(&["follow", "--strict"], whole());
    assert_eq!(ran.code, 0, "{}", ran.all());
}

#[test]
fn what_cannot_be_followed_is_said_with_help() {
    let sandbox = Sandbox::new();
    let table: [(&[&str], &str); 5] = [
        (&["follow", "missing.jsonl"], "missing.jsonl: cannot be read"),
        (&["follow", "."], ".: this is a folder"),
        (&["follow", "--run", "a b"], "`a b` is not a valid run id"),
        (&["follow", "--from", "aider"], "invalid value 'aider' for '--from <AGENT>'"),
        (&["follow", "--store", "x.db", "--no-store"], "cannot be used with '--no-store'"),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.pipe(arguments, whole());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
    let ran = sandbox.pipe(&["follow"], "hello\n");
    assert!(ran.err.contains("<stdin>: unknown line format"), "{}", ran.err);
    assert!(ran.err.contains("help: the agent must print JSON lines"), "{}", ran.err);
    let ran = sandbox.pipe(&["follow", "--from", "codex"], "");
    assert!(ran.err.contains("<stdin>: no run found"), "{}", ran.err);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let sandbox = Sandbox::new();
    let long = [init(), says("word\\n").repeat(5_000)].concat();
    let ran = sandbox.unheard(&["follow"], &long);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
}
