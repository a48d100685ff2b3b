//! Ctrl-C, kill and `runs stop` in the middle of a run: one end, and no call stays open.

#![cfg(unix)]

use std::process::Stdio;

use serde_json::Value;

use crate::{follow_live::Live, follow_stored::runs, follow_streams::*, sandbox::Sandbox};

const FOLLOW: [&str; 7] = ["follow", "--store", "runs.db", "--as", "jsonl", "--run", "r"];

/// A run in the middle of its second call.
fn under_way(sandbox: &Sandbox) -> Live {
    let mut live = Live::start(sandbox, &FOLLOW);
    live.say(&[init(), call("t1", "make"), answer("t1", "ok"), call("t2", "sleep 100")].concat());
    live.hear(r#""toolCallId":"t2""#);
    live
}

/// What the store says about the run: how it ended, and its calls by status.
fn end_of(sandbox: &Sandbox) -> (Value, Value) {
    let run = runs(sandbox, "runs.db").remove(0);
    let ran = sandbox.run(&["runs", "events", "r", "--store", "runs.db"]);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "run-ended", "{}", ran.out);
    assert_eq!(last["reason"], run["outcome"]);
    let checked = sandbox.run(&["store", "check", "--store", "runs.db"]);
    assert_eq!(checked.code, 0, "{}", checked.all());
    (run["outcome"].clone(), run["summary"]["byStatus"].clone())
}

fn may_have_run() -> Value {
    serde_json::json!({ "succeeded": 1, "interrupted": 1 })
}

#[test]
fn ctrl_c_stops_the_run_and_says_so() {
    for signal in ["INT", "TERM"] {
        let sandbox = Sandbox::new();
        let live = under_way(&sandbox);
        live.signal(signal);
        let (code, out, err) = live.end();
        assert_eq!(code, 130, "{signal}: {out}{err}");
        assert!(out.ends_with("}\n") && out.contains(r#""reason":"stopped""#), "{out}");
        assert_eq!(end_of(&sandbox), ("stopped".into(), may_have_run()), "{signal}");
    }
}

#[test]
fn people_see_what_was_kept_after_ctrl_c() {
    let sandbox = Sandbox::new();
    let mut live = Live::start(&sandbox, &["follow", "--run", "r"]);
    live.say(&[init(), says("One moment."), call("t1", "make")].concat());
    live.hear("One moment.");
    live.signal("INT");
    let (code, out, err) = live.end();
    assert_eq!((code, err.as_str()), (130, ""), "{out}");
    let told = timeless(&out);
    assert!(told.contains("⚠ Bash  make  stopped, may have run\n"), "{told}");
    assert!(told.ends_with("⊘ stopped · 1 call: 1 may have run\n"), "{told}");
}

#[test]
fn a_call_that_finishes_in_time_counts_although_it_was_stopped() {
    let sandbox = Sandbox::new();
    let mut live = under_way(&sandbox);
    live.signal("INT");
    live.hear(r#""type":"stop""#);
    live.say(&answer("t2", "just in time"));
    let (code, out, _) = live.end();
    assert_eq!(code, 130, "{out}");
    let all_done = serde_json::json!({ "succeeded": 2 });
    assert_eq!(end_of(&sandbox), ("stopped".into(), all_done));
}

#[test]
fn an_agent_that_ends_with_the_same_ctrl_c_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut live = under_way(&sandbox);
    live.signal("INT");
    live.hear(r#""type":"stop""#);
    live.close();
    let (code, out, _) = live.end();
    assert_eq!(code, 130, "{out}");
    assert!(!out.contains("ended before the run"), "{out}");
    assert_eq!(end_of(&sandbox), ("stopped".into(), may_have_run()));
}

#[test]
fn nothing_has_begun_and_ctrl_c_ends_it() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["follow"]);
    command.env("FOXWEDGE_STORE", "runs.db");
    let live = Live::of(command);
    // It hears signals as soon as its store is there.
    while !sandbox.path("runs.db").exists() {
        std::thread::yield_now();
    }
    live.signal("INT");
    let (code, out, _) = live.end();
    // Before it listens, a signal ends it as it ends any program.
    assert!(matches!(code, 130 | -1), "{code}");
    assert_eq!(out, "");
}

#[test]
fn a_killed_follow_leaves_no_ghost() {
    let sandbox = Sandbox::new();
    let mut live = under_way(&sandbox);
    live.kill();
    let ran = sandbox.run(&["runs", "--store", "runs.db"]);
    if cfg!(target_os = "linux") {
        assert!(ran.err.contains("note: closed 1 run whose process is gone"), "{}", ran.err);
        assert!(ran.out.starts_with("⚠ interrupted  r "), "{}", ran.out);
        assert_eq!(end_of(&sandbox), ("interrupted".into(), may_have_run()));
        let shown = timeless(&sandbox.run(&["runs", "show", "r", "--store", "runs.db"]).out);
        assert!(shown.contains("✓ Bash  make  done\n"), "{shown}");
        assert!(shown.contains("⚠ Bash  sleep 100  stopped, may have run\n"), "{shown}");
        // Once: there is nothing left to close.
        let again = sandbox.run(&["runs", "--store", "runs.db"]);
        assert!(!again.err.contains("closed"), "{}", again.err);
    }
}

#[test]
fn what_was_shown_before_a_kill_is_in_the_store() {
    let stream = recording("claude-code-2.1.325-subagents-parallel");
    for heard in 1..=12 {
        let sandbox = Sandbox::new();
        let mut live = Live::start(&sandbox, &FOLLOW);
        // Line by line, so that there is something between two appends to be killed in.
        for line in stream.lines() {
            live.say(&format!("{line}\n"));
        }
        for _ in 0..heard {
            live.hear("");
        }
        live.kill();
        let shown = live.heard.clone();
        sandbox.run(&["store", "sweep", "--store", "runs.db"]);
        let kept = sandbox.run(&["runs", "events", "r", "--store", "runs.db"]);
        assert!(kept.out.starts_with(&shown), "{heard}: {shown}\n---\n{}", kept.out);
        if cfg!(target_os = "linux") {
            let last: Value = serde_json::from_str(kept.out.lines().last().unwrap()).unwrap();
            assert_eq!(last["type"], "run-ended", "{heard}: {}", kept.out);
        }
        let checked = sandbox.run(&["store", "check", "--store", "runs.db"]);
        assert_eq!(checked.code, 0, "{}", checked.all());
    }
}

#[test]
fn a_live_run_is_nobodys_to_sweep() {
    let sandbox = Sandbox::new();
    let mut live = under_way(&sandbox);
    let ran = sandbox.run(&["runs", "--open", "--store", "runs.db"]);
    assert!(ran.out.starts_with("● running  r "), "{}", ran.all());
    let ran = sandbox.run(&["store", "sweep", "--store", "runs.db"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert!(ran.err.contains("No runs to close."), "{}", ran.err);
    let ran = sandbox.run(&["store", "delete", "r", "--yes", "--store", "runs.db"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("`foxwedge runs stop r` stops it"), "{}", ran.err);
    live.say(&[answer("t2", "ok"), says("Done."), result("Done.")].concat());
    live.close();
    let (code, _, err) = live.end();
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_run_that_is_stopped_from_outside_says_so_where_it_is_followed() {
    let sandbox = Sandbox::new();
    let live = under_way(&sandbox);
    let mut reader =
        Live::start(&sandbox, &["runs", "events", "r", "--follow", "--store", "runs.db"]);
    reader.hear(r#""toolCallId":"t2""#);
    let ran = sandbox.run(&["runs", "stop", "r", "--store", "runs.db"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert!(ran.err.starts_with("stopped r (2 calls: 1 done, 1 may have run)"), "{}", ran.err);
    // Whoever follows it sees the same end, wherever they look from.
    let (code, followed, err) = live.end();
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("note: run `r` was ended by another process: stopped"), "{err}");
    let (code, read, err) = reader.end();
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(read, followed);
    assert_eq!(end_of(&sandbox), ("stopped".into(), may_have_run()));
    let again = sandbox.run(&["runs", "stop", "r", "--store", "runs.db"]);
    assert_eq!(again.code, 1, "{}", again.all());
    assert!(again.err.contains("run `r` has already ended: stopped"), "{}", again.err);
}

#[test]
fn a_reader_that_does_not_read_can_be_left() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&FOLLOW);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    let stream = [init(), says(&"word ".repeat(200_000)), call("t1", "make")].concat();
    std::io::Write::write_all(&mut stdin, stream.as_bytes()).unwrap();
    // The call is in the store, although nobody has read what stands before it.
    let wait_for = |word: &str| {
        let stored = || {
            sandbox.path("runs.db").exists()
                && sandbox.run(&["runs", "events", "r", "--store", "runs.db"]).out.contains(word)
        };
        while !stored() {
            std::thread::yield_now();
        }
    };
    let interrupt = || {
        let id = child.id().to_string();
        std::process::Command::new("kill").args(["-s", "INT", &id]).status().unwrap();
    };
    wait_for(r#""toolCallId":"t1""#);
    interrupt();
    wait_for(r#""reason":"stopped""#);
    // It only waits for its reader by now.
    interrupt();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(reader);
    let interrupted = serde_json::json!({ "interrupted": 1 });
    assert_eq!(end_of(&sandbox), ("stopped".into(), interrupted));
}
