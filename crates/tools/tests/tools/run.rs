//! Commands, and what they say.

use foxwedge_tools::{OutputCapture, StopReceiver, ToolCompletion, ToolLimits};
use serde_json::json;

use crate::bench::{Bench, KEPT};

#[tokio::test]
async fn a_command_says_something_and_ends_somehow() {
    let bench = Bench::new();
    bench.put("file", "");
    let table = [
        ("echo hello", ToolCompletion::Done, "hello\n[exit code 0]"),
        ("true", ToolCompletion::Done, "[no output]\n[exit code 0]"),
        ("ls; exit 3", ToolCompletion::Failed, "file\n[exit code 3]"),
        ("printf x", ToolCompletion::Done, "x\n[exit code 0]"),
        (
            "echo a; echo b >&2; echo c; echo d >&2",
            ToolCompletion::Done,
            "a\nb\nc\nd\n[exit code 0]",
        ),
        ("kill -9 $$", ToolCompletion::Failed, "[no output]\n[ended by signal 9 (SIGKILL)]"),
        (
            "exec nonsense-command 2>/dev/null",
            ToolCompletion::Failed,
            "[no output]\n[exit code 127]",
        ),
        // Nobody types anything.
        ("cat; read x || echo end", ToolCompletion::Done, "end\n[exit code 0]"),
        ("printf 'a\\377b'", ToolCompletion::Done, "a\u{fffd}b\n[exit code 0]"),
        (
            "test -t 1 || echo $TERM $NO_COLOR $PAGER",
            ToolCompletion::Done,
            "dumb 1 cat\n[exit code 0]",
        ),
    ];
    for (command, how, expected) in table {
        let said = bench.call("run", json!({ "command": command })).await;
        assert_eq!((said.how, said.text.as_str()), (how, expected), "{command}");
    }
    let folder = bench.call("run", json!({ "command": "pwd -P" })).await;
    folder.has(bench.root().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn a_command_that_is_none_is_refused() {
    let bench = Bench::new();
    let long = format!("true {}", "x".repeat(200_000));
    for (command, expected) in [("", "empty"), (" \n", "empty"), ("a\0", "NUL"), (&long, "bytes")] {
        bench.call("run", json!({ "command": command })).await.refuses(expected);
    }
    let said = bench.call("run", json!({ "command": "true", "timeout_seconds": 601 })).await;
    said.refuses("from 1 to 600");
    // As long as may be.
    let long = format!("true {}", "x".repeat(99_000));
    bench.call("run", json!({ "command": long })).await.is("[no output]\n[exit code 0]");
}

/// A gigabyte costs time, and nothing else.
#[tokio::test]
async fn much_output_is_drained_and_its_middle_left_out() {
    let bench = Bench::new();
    let input = json!({ "command": "echo first; yes | head -c 1000000000; echo last" });
    let output = OutputCapture::new(KEPT);
    let said = bench.call_with("run", input, StopReceiver::never(), output.clone()).await;
    let captured = output.capture();
    assert_eq!(captured.total, 1_000_000_011);
    assert_eq!(captured.omitted, captured.total - KEPT as u64);
    assert!(captured.text.len() <= KEPT + 100 && said.text.len() <= KEPT + 200);
    assert!(said.text.starts_with("first\ny\ny\n"));
    said.has("y\nlast\n[exit code 0]");
    said.has("[… 999983627 bytes left out …]");
}

/// Whoever keeps the output open is not waited for, and not left.
#[tokio::test]
async fn nothing_is_left_running_behind_a_command() {
    let bench = Bench::new();
    bench.call("run", json!({ "command": "mkfifo gate" })).await.has("[exit code 0]");
    let table = [
        "sleep 1000 & echo $!",
        "sleep 1000 >/dev/null 2>&1 & echo $!",
        "setsid sleep 1000 & echo $!",
        "nohup setsid sleep 1000 >/dev/null 2>&1 & echo $!",
        "sh -c 'trap \"\" TERM HUP INT; echo $$; echo > gate; sleep 1000' & read x < gate",
        "yes >/dev/null & echo $!",
    ];
    for command in table {
        let said = bench.call("run", json!({ "command": command })).await;
        let pid = said.text.lines().next().unwrap();
        assert!(pid.parse::<u32>().is_ok(), "{command}: {said:?}");
        said.has("[exit code 0]\n[killed what it had left running: ");
        assert!(!crate::stops::is_alive(pid), "{command}: {said:?}");
    }
    // One that goes on a little is let go on.
    let said = bench.call("run", json!({ "command": "(sleep 0.02; echo late) & echo now" })).await;
    said.is("now\nlate\n[exit code 0]");
}

#[tokio::test]
async fn every_call_has_its_own_mark() {
    let bench = Bench::new();
    let mut marks = Vec::new();
    for _ in 0..2 {
        let said = bench.call("run", json!({ "command": "echo $FOXWEDGE_CALL" })).await;
        marks.push(said.text.lines().next().unwrap().to_owned());
    }
    for mark in &marks {
        // Who made it stands in front of what nobody can guess.
        let (maker, last) = mark.rsplit(':').next().unwrap().rsplit_once('-').unwrap();
        assert!(maker.starts_with(&std::process::id().to_string()), "{mark}");
        assert!(last.len() == 32 && last.bytes().all(|byte| byte.is_ascii_hexdigit()), "{mark}");
    }
    assert_ne!(marks.first(), marks.last());
}

#[tokio::test]
async fn time_limits_are_kept_whatever_is_asked_for() {
    let limits = ToolLimits {
        run: std::time::Duration::from_secs(900),
        run_max: std::time::Duration::from_secs(1),
        ..ToolLimits::default()
    };
    let bench = Bench::with(limits);
    let said = bench.call("run", json!({ "command": "echo early; sleep 1000" })).await;
    assert_eq!(said.how, ToolCompletion::Failed);
    assert_eq!(said.text, "early\n[killed: it took longer than 1 s]");
}
