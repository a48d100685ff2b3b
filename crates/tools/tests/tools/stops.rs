//! Commands that do not want to end, and that nothing is left of them.

use std::{fs, time::Duration};

use foxwedge_tools::{StopLevel, ToolCompletion};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::bench::{Begun, Bench};

/// Commands that would run for ever. Each says which processes it consists of, in a file, and how
/// many there are.
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
async fn nothing_is_left_after_a_forced_stop() {
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let begun = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, count, &begun).await;
        begun.interrupt.raise(StopLevel::Kill);
        let said = timeout(Duration::from_secs(30), begun.task).await.unwrap().unwrap();
        assert_eq!(said.how, ToolCompletion::Stopped, "{what}: {said:?}");
        assert_eq!(said.text, "[no output]\n[killed: it was to stop at once]", "{what}");
        gone(what, &pids);
    }
}

#[tokio::test]
async fn nothing_is_left_when_nobody_waits_any_more() {
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let begun = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, count, &begun).await;
        begun.task.abort();
        assert!(begun.task.await.unwrap_err().is_cancelled(), "{what}");
        gone(what, &pids);
    }
}

#[tokio::test]
async fn nothing_is_left_after_the_time_limit() {
    // All at once, as each takes as long as it may.
    let mut begun = Vec::new();
    for (what, command, count) in STUBBORN {
        let bench = Bench::new();
        let call = bench.begin("run", json!({ "command": command, "timeout_seconds": 6 }));
        begun.push((what, bench, call, count));
    }
    for (what, bench, call, count) in begun {
        let pids = pids(&bench, count, &call).await;
        let said = timeout(Duration::from_secs(60), call.task).await.unwrap().unwrap();
        assert_eq!(said.how, ToolCompletion::Failed, "{what}: {said:?}");
        assert_eq!(said.text, "[no output]\n[killed: it took longer than 6 s]", "{what}");
        gone(what, &pids);
    }
}

#[tokio::test]
async fn a_wish_is_heard_and_waited_for() {
    let bench = Bench::new();
    let command = "trap 'echo bye; exit 3' TERM; echo $$ > pids; echo early; \
                   while :; do sleep 0.05; done";
    let begun = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &begun).await;
    heard(&begun, "early").await;
    begun.interrupt.raise(StopLevel::Graceful);
    let said = timeout(Duration::from_secs(30), begun.task).await.unwrap().unwrap();
    assert_eq!(said.how, ToolCompletion::Stopped);
    // What the shell says about those that it waited for is its own matter.
    assert!(said.text.starts_with("early\n"), "{said:?}");
    assert!(said.text.ends_with("bye\n[asked to stop: exit code 3]"), "{said:?}");
    gone("a wish", &pids);
}

#[tokio::test]
async fn a_wish_reaches_everybody() {
    // A halted one, and one in a session of its own that another waits for, whatever it hears.
    let waits = "trap : TERM; setsid sleep 1000 & echo $! > pids; \
                 while kill -0 $!; do wait $!; done 2>/dev/null";
    for command in ["echo $$ > pids; kill -STOP $$; sleep 1000", waits] {
        let bench = Bench::new();
        let begun = bench.begin("run", json!({ "command": command }));
        let pids = pids(&bench, 1, &begun).await;
        begun.interrupt.raise(StopLevel::Graceful);
        let said = timeout(Duration::from_secs(30), begun.task).await.unwrap().unwrap();
        assert_eq!(said.how, ToolCompletion::Stopped, "{command}: {said:?}");
        assert!(said.text.contains("[asked to stop: "), "{command}: {said:?}");
        gone(command, &pids);
    }
}

#[tokio::test]
async fn who_does_not_hear_a_wish_goes_on_until_it_is_forced() {
    let bench = Bench::new();
    let command = "trap 'echo no' TERM; echo $$ > pids; echo early; \
                   while :; do sleep 0.05; done";
    let begun = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &begun).await;
    heard(&begun, "early").await;
    begun.interrupt.raise(StopLevel::Graceful);
    heard(&begun, "no\n").await;
    assert!(!begun.task.is_finished() && is_alive(&pids[0]));
    begun.interrupt.raise(StopLevel::Kill);
    let said = timeout(Duration::from_secs(30), begun.task).await.unwrap().unwrap();
    assert_eq!(said.how, ToolCompletion::Stopped);
    assert!(said.text.starts_with("early\n") && said.text.contains("no\n[killed: "), "{said:?}");
    gone("deaf", &pids);
}

#[tokio::test]
async fn what_was_said_before_a_call_was_dropped_is_kept() {
    let bench = Bench::new();
    let command = "echo $$ > pids; echo early; echo more >&2; exec sleep 1000";
    let begun = bench.begin("run", json!({ "command": command }));
    let pids = pids(&bench, 1, &begun).await;
    heard(&begun, "more").await;
    begun.task.abort();
    let _ = begun.task.await;
    assert_eq!(begun.output.capture().text, "early\nmore\n");
    gone("dropped", &pids);
}

/// A flood of output keeps nobody from stopping it.
#[tokio::test]
async fn a_flood_is_stopped() {
    for stage in [StopLevel::Graceful, StopLevel::Kill] {
        let bench = Bench::new();
        let begun = bench.begin("run", json!({ "command": "echo $$ > pids; yes; sleep 1000" }));
        let pids = pids(&bench, 1, &begun).await;
        heard(&begun, "left out").await;
        begun.interrupt.raise(stage);
        let said = timeout(Duration::from_secs(30), begun.task).await.unwrap().unwrap();
        assert_eq!(said.how, ToolCompletion::Stopped);
        gone("a flood", &pids);
    }
}

/// Two calls beside each other: the end of one is not the end of the other.
#[tokio::test]
async fn others_are_left_alone() {
    let (one, other) = (Bench::new(), Bench::new());
    let command = "setsid sleep 1000 & echo $! > pids; echo $$ >> pids; wait";
    let first = one.begin("run", json!({ "command": command }));
    let second = other.begin("run", json!({ "command": command }));
    let firsts = pids(&one, 2, &first).await;
    let seconds = pids(&other, 2, &second).await;
    first.task.abort();
    let _ = first.task.await;
    gone("the first", &firsts);
    assert!(seconds.iter().all(|pid| is_alive(pid)), "{seconds:?}");
    second.task.abort();
    let _ = second.task.await;
    gone("the second", &seconds);
}

/// The processes of a command, once all of them are there.
async fn pids(bench: &Bench, count: usize, begun: &Begun) -> Vec<String> {
    for _ in 0..2000 {
        let text = fs::read_to_string(bench.root().join("pids")).unwrap_or_default();
        let pids: Vec<String> = text.lines().map(str::to_owned).collect();
        if pids.len() >= count && text.ends_with('\n') {
            return pids;
        }
        assert!(!begun.task.is_finished(), "{:?}", begun.output.capture());
        sleep(Duration::from_millis(10)).await;
    }
    panic!("they are not there: {:?}", begun.output.capture());
}

/// Waits until a call has said something.
async fn heard(begun: &Begun, expected: &str) {
    let said = async {
        while !begun.output.capture().text.contains(expected) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), said).await.unwrap();
}

/// They are gone now, not soon; and nobody has to take note of it any more.
#[track_caller]
fn gone(what: &str, pids: &[String]) {
    assert!(!pids.is_empty(), "{what}");
    let ours = std::process::id().to_string();
    for pid in pids {
        assert!(!is_alive(pid), "{what}: {pid} is alive");
        let parent = stat(pid).map(|fields| fields[1].clone());
        assert_ne!(parent.as_deref(), Some(ours.as_str()), "{what}: {pid} is a zombie of ours");
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    stat(pid).is_some_and(|fields| !["Z", "X"].contains(&fields[0].as_str()))
}

/// What the system says about a process, behind its name.
fn stat(pid: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')').unwrap();
    Some(fields.split_whitespace().map(str::to_owned).collect())
}
