//! Stubborn commands: none of their processes may survive.

use std::{fs, time::Duration};

use foxwedge_tools::{StopLevel, ToolCompletion};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::bench::{Bench, RunningCall};

/// Commands that would run for ever. Each writes its process ids to a file; the number is how many
/// there are.
const STUBBORN: [(&str, &str, usize); 8] = [
    ("one process", "echo $$ > pids; exec sleep 1000", 1),
    (
        "a shell that does not hear",
        "trap '' TERM INT HUP; echo $$ > pids; sleep 1000 & echo $! >> pids; \
         while :; do wait; done",
        2,
    ),
    (
        "a daemon, with a session and parents that are gone",
        "(setsid sh -c '(trap \"\" TERM; echo $$ >> pids; sleep 1000 & echo $! >> pids; wait) \
         >/dev/null 2>&1 </dev/null &' &); echo $$ >> pids; sleep 1000",
        2,
    ),
    (
        "daemons of daemons",
        "d() { setsid sh -c \"$1\" >/dev/null 2>&1 & }; \
         d 'echo $$ >> pids; setsid sh -c \"echo \\$\\$ >> pids; setsid sleep 1000\" & \
         echo $! >> pids; exec sleep 1000'; echo $$ >> pids; sleep 1000",
        4,
    ),
    (
        "a tree of them",
        "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; \
         sh -c 'echo $PPID' >> pids; while :; do sleep 1000; done; }; f 4",
        31,
    ),
    (
        "a tree of them, each in its own session",
        "cat > bomb <<'E'\n\
         echo $$ >> pids\n\
         if [ $1 -gt 0 ]; then setsid sh bomb $(($1-1)) & setsid sh bomb $(($1-1)) & fi\n\
         trap '' TERM\nwhile :; do sleep 1000; done\nE\n\
         exec sh bomb 4",
        31,
    ),
    (
        "one that forgot where it comes from",
        "echo $$ > pids; env -i setsid sleep 1000 & echo $! >> pids; wait",
        2,
    ),
    ("one that was halted", "echo $$ > pids; kill -STOP $$; sleep 1000", 1),
];

#[tokio::test]
async fn no_process_is_left_after_a_forced_stop() {
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, count, &call).await;
        call.stop_sender.raise(StopLevel::Kill);
        let result = timeout(Duration::from_secs(30), call.task).await.unwrap().unwrap();
        assert_eq!(result.completion, ToolCompletion::Stopped, "{what}: {result:?}");
        assert_eq!(result.text, "[no output]\n[killed: it was to stop at once]", "{what}");
        assert_gone(what, &pids);
    }
}

#[tokio::test]
async fn no_process_is_left_after_the_call_is_dropped() {
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, count, &call).await;
        call.task.abort();
        assert!(call.task.await.unwrap_err().is_cancelled(), "{what}");
        assert_gone(what, &pids);
    }
}

#[tokio::test]
async fn no_process_is_left_after_the_time_limit() {
    // All at once, because each takes its full time limit.
    let mut calls = Vec::new();
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": command, "timeout_seconds": 6 }));
        calls.push((what, bench, call, count));
    }
    for (what, bench, call, count) in calls {
        let pids = pids(&bench, count, &call).await;
        let result = timeout(Duration::from_secs(60), call.task).await.unwrap().unwrap();
        assert_eq!(result.completion, ToolCompletion::Failed, "{what}: {result:?}");
        assert_eq!(result.text, "[no output]\n[killed: it took longer than 6 s]", "{what}");
        assert_gone(what, &pids);
    }
}

#[tokio::test]
async fn graceful_stop_is_delivered_and_waited_for() {
    let bench = Bench::new();
    let command = "trap 'echo bye; exit 3' TERM; echo $$ > pids; echo early; \
                   while :; do sleep 0.05; done";
    let call = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &call).await;
    wait_for_output(&call, "early").await;
    call.stop_sender.raise(StopLevel::Graceful);
    let result = timeout(Duration::from_secs(30), call.task).await.unwrap().unwrap();
    assert_eq!(result.completion, ToolCompletion::Stopped);
    // The messages of the shell about its children may vary.
    assert!(result.text.starts_with("early\n"), "{result:?}");
    assert!(result.text.ends_with("bye\n[asked to stop: exit code 3]"), "{result:?}");
    assert_gone("a wish", &pids);
}

#[tokio::test]
async fn graceful_stop_reaches_every_process() {
    // A stopped process, and one in its own session whose parent waits for it whatever signal
    // arrives.
    // It says itself who it is: before it runs, a signal would meet the trap of its parent.
    let waiting = "trap : TERM; setsid sh -c 'echo $$ > pids; exec sleep 1000' & \
                 while kill -0 $!; do wait $!; done 2>/dev/null";
    for command in ["echo $$ > pids; kill -STOP $$; sleep 1000", waiting] {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, 1, &call).await;
        call.stop_sender.raise(StopLevel::Graceful);
        let result = timeout(Duration::from_secs(30), call.task).await.unwrap().unwrap();
        assert_eq!(result.completion, ToolCompletion::Stopped, "{command}: {result:?}");
        assert!(result.text.contains("[asked to stop: "), "{command}: {result:?}");
        assert_gone(command, &pids);
    }
}

#[tokio::test]
async fn command_that_ignores_a_graceful_stop_runs_until_killed() {
    let bench = Bench::new();
    let command = "trap 'echo no' TERM; echo $$ > pids; echo early; \
                   while :; do sleep 0.05; done";
    let call = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &call).await;
    wait_for_output(&call, "early").await;
    call.stop_sender.raise(StopLevel::Graceful);
    wait_for_output(&call, "no\n").await;
    assert!(!call.task.is_finished() && is_alive(&pids[0]));
    call.stop_sender.raise(StopLevel::Kill);
    let result = timeout(Duration::from_secs(30), call.task).await.unwrap().unwrap();
    assert_eq!(result.completion, ToolCompletion::Stopped);
    assert!(
        result.text.starts_with("early\n") && result.text.contains("no\n[killed: "),
        "{result:?}"
    );
    assert_gone("deaf", &pids);
}

#[tokio::test]
async fn output_before_a_dropped_call_is_kept() {
    let bench = Bench::new();
    let command = "echo $$ > pids; echo early; echo more >&2; exec sleep 1000";
    let call = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &call).await;
    wait_for_output(&call, "more").await;
    call.task.abort();
    let _ = call.task.await;
    assert_eq!(call.output.capture().text, "early\nmore\n");
    assert_gone("dropped", &pids);
}

/// A flood of output does not prevent a stop.
#[tokio::test]
async fn flood_of_output_is_stopped() {
    for level in [StopLevel::Graceful, StopLevel::Kill] {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": "echo $$ > pids; yes; sleep 1000" }));
        let pids = pids(&bench, 1, &call).await;
        wait_for_output(&call, "left out").await;
        call.stop_sender.raise(level);
        let result = timeout(Duration::from_secs(30), call.task).await.unwrap().unwrap();
        assert_eq!(result.completion, ToolCompletion::Stopped);
        assert_gone("a flood", &pids);
    }
}

/// Two parallel calls: the end of one does not end the other.
#[tokio::test]
async fn other_calls_are_not_affected() {
    let (one, other) = (Bench::new(), Bench::new());
    let command = "setsid sleep 1000 & echo $! > pids; echo $$ >> pids; wait";
    let first = one.begin("run", json!({ "command": command }));
    let second = other.begin("run", json!({ "command": command }));
    let first_pids = pids(&one, 2, &first).await;
    let second_pids = pids(&other, 2, &second).await;
    first.task.abort();
    let _ = first.task.await;
    assert_gone("the first", &first_pids);
    assert!(second_pids.iter().all(|pid| is_alive(pid)), "{second_pids:?}");
    second.task.abort();
    let _ = second.task.await;
    assert_gone("the second", &second_pids);
}

/// The process ids of a command, once all of them exist.
async fn pids(bench: &Bench, count: usize, call: &RunningCall) -> Vec<String> {
    for _ in 0..2000 {
        let text = fs::read_to_string(bench.root().join("pids")).unwrap_or_default();
        let pids: Vec<String> = text.lines().map(str::to_owned).collect();
        if pids.len() >= count && text.ends_with('\n') {
            return pids;
        }
        assert!(!call.task.is_finished(), "{:?}", call.output.capture());
        sleep(Duration::from_millis(10)).await;
    }
    panic!("they are not there: {:?}", call.output.capture());
}

/// Waits until a call has written something.
async fn wait_for_output(call: &RunningCall, expected: &str) {
    let output_written = async {
        while !call.output.capture().text.contains(expected) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), output_written).await.unwrap();
}

/// The processes are gone now, not soon, and are reaped.
#[track_caller]
fn assert_gone(what: &str, pids: &[String]) {
    assert!(!pids.is_empty(), "{what}");
    let own_pid = std::process::id().to_string();
    for pid in pids {
        assert!(!is_alive(pid), "{what}: {pid} is alive");
        let parent = stat(pid).map(|fields| fields[1].clone());
        assert_ne!(parent.as_deref(), Some(own_pid.as_str()), "{what}: {pid} is a zombie of ours");
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    stat(pid).is_some_and(|fields| !["Z", "X"].contains(&fields[0].as_str()))
}

/// The fields of `/proc/<pid>/stat` after the name.
fn stat(pid: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')').unwrap();
    Some(fields.split_whitespace().map(str::to_owned).collect())
}
