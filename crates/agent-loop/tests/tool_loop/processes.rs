//! Real processes: whatever ends a run, no process of its tools is left.

use std::{fs, sync::Arc, time::Duration};

use foxwedge_run::{Outcome, ToolStatus};
use foxwedge_tools::{Tool, ToolLimits, ToolWorkspace, Toolbox};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use crate::{
    harness::{Harness, Setup},
    points::runtime,
    script::{call, reply},
    temporary::Temporary,
    test_tools::toolbox,
    world::World,
};

/// Commands that resist being killed. Each writes its process ids to a file, then `ready`.
const STUBBORN: [(&str, &str); 5] = [
    ("one that waits", "echo $$ > pids; echo half of it; echo > ready; sleep 1000"),
    (
        "one that does not listen",
        "trap '' TERM INT HUP; echo $$ > pids; echo half of it; echo > ready; \
         while :; do sleep 1000; done",
    ),
    (
        "one with children",
        "sleep 1000 & echo $! > pids; sleep 1000 & echo $! >> pids; echo $$ >> pids; \
         echo half of it; echo > ready; wait",
    ),
    (
        "one whose children leave",
        "(nohup setsid sleep 1000 >/dev/null 2>&1 & echo $! > pids); echo $$ >> pids; \
         echo half of it; echo > ready; sleep 1000",
    ),
    (
        "one that prints for ever",
        "echo $$ > pids; echo half of it; echo > ready; while :; do echo more; done",
    ),
];

/// What ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ends {
    Wish,
    Force,
    Drop,
}

async fn started(command: &str) -> (Harness, Temporary) {
    let folder = Temporary::folder();
    let workspace = ToolWorkspace::open(folder.as_ref()).expect("a workspace");
    let tools = workspace.tools_named(&["run"], ToolLimits::default()).expect("a tool");
    let arguments = json!({ "command": command }).to_string();
    let script = vec![reply([
        call("x", "run", arguments),
        call("y", "run", r#"{"command":"echo > never"}"#),
    ])];
    let harness = Setup { script, ..Setup::default() }.build(move |_: &World| boxed(tools)).await;
    (harness, folder)
}

fn boxed(tools: Vec<Arc<dyn Tool>>) -> Toolbox {
    toolbox(tools)
}

fn pids(folder: &Temporary) -> Vec<i32> {
    let pids_text = fs::read_to_string(folder.path("pids")).unwrap_or_default();
    pids_text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Whether a process is running. A zombie that its parent has not reaped is not.
fn is_alive(id: i32) -> bool {
    let Some(pid) = Pid::from_raw(id) else { return false };
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    test_kill_process(pid).is_ok() && !matches!(state, Some('Z' | 'X'))
}

async fn check_end(name: &str, command: &str, ends: Ends) {
    let (mut harness, folder) = started(command).await;
    let world = harness.world.clone();
    let ready = async {
        while !folder.path("ready").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Its output has not been read yet.
        tokio::time::sleep(Duration::from_millis(30)).await;
    };
    match ends {
        Ends::Wish | Ends::Force => {
            let (finished, ()) = tokio::join!(harness.prompt("go"), async {
                ready.await;
                world.interrupt();
                if ends == Ends::Force {
                    world.interrupt();
                }
            });
            let finished = finished.expect("a run");
            assert_eq!(finished.ended.outcome, Some(Outcome::Stopped), "{name}");
            let counts = [ToolStatus::Interrupted, ToolStatus::Cancelled]
                .map(|it| finished.summary.count(it));
            assert_eq!(counts, [1, 1], "{name}, {ends:?}");
            let shape = harness.shape();
            assert!(shape.contains("half of it"), "{name}, {ends:?}: {shape}");
            harness.check();
        }
        Ends::Drop => {
            tokio::select! {
                finished = harness.prompt("go") => panic!("{name}: {finished:?}"),
                () = ready => {}
            }
            drop(harness);
        }
    }
    let ids = pids(&folder);
    assert!(!ids.is_empty(), "{name}");
    // A dropped task ends when its thread polls it.
    for _ in 0..200 {
        if ids.iter().all(|id| !is_alive(*id)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let alive: Vec<&i32> = ids.iter().filter(|id| is_alive(**id)).collect();
    assert!(alive.is_empty(), "{name}, {ends:?}: {alive:?} of {ids:?} are still there");
    assert!(!folder.path("never").exists(), "{name}: what came behind it ran");
}

#[test]
fn a_graceful_stop_leaves_no_process() {
    runtime().block_on(async {
        for (name, command) in STUBBORN {
            check_end(name, command, Ends::Wish).await;
        }
    });
}

#[test]
fn a_forced_stop_leaves_no_process() {
    runtime().block_on(async {
        for (name, command) in STUBBORN {
            check_end(name, command, Ends::Force).await;
        }
    });
}

#[test]
fn a_dropped_loop_leaves_no_process() {
    runtime().block_on(async {
        for (name, command) in STUBBORN {
            check_end(name, command, Ends::Drop).await;
        }
    });
}
