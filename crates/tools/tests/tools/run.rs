//! The `run` tool: commands and their output.

use foxwedge_tools::{OutputCapture, StopReceiver, ToolCompletion, ToolLimits};
use serde_json::json;

use crate::bench::{Bench, KEPT};

#[tokio::test]
async fn command_output_and_exit_status_are_returned() {
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
        // There is no input.
        ("cat; read x || echo end", ToolCompletion::Done, "end\n[exit code 0]"),
        ("printf 'a\\377b'", ToolCompletion::Done, "a\u{fffd}b\n[exit code 0]"),
        (
            "test -t 1 || echo $TERM $NO_COLOR $PAGER",
            ToolCompletion::Done,
            "dumb 1 cat\n[exit code 0]",
        ),
    ];
    for (command, completion, expected) in table {
        let result = bench.call("run", json!({ "command": command })).await;
        assert_eq!((result.completion, result.text.as_str()), (completion, expected), "{command}");
    }
    let folder = bench.call("run", json!({ "command": "pwd -P" })).await;
    folder.has(bench.root().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn invalid_commands_are_refused() {
    let bench = Bench::new();
    let long = format!("true {}", "x".repeat(200_000));
    for (command, expected) in [("", "empty"), (" \n", "empty"), ("a\0", "NUL"), (&long, "bytes")] {
        bench.call("run", json!({ "command": command })).await.refuses(expected);
    }
    let result = bench.call("run", json!({ "command": "true", "timeout_seconds": 601 })).await;
    result.refuses("from 1 to 600");
    // The longest allowed command.
    let long = format!("true {}", "x".repeat(99_000));
    bench.call("run", json!({ "command": long })).await.is("[no output]\n[exit code 0]");
}

/// A gigabyte of output costs time, but no memory.
#[tokio::test]
async fn long_output_is_drained_and_its_middle_left_out() {
    let bench = Bench::new();
    let input = json!({ "command": "echo first; yes | head -c 1000000000; echo last" });
    let output = OutputCapture::new(KEPT);
    let result = bench.call_with("run", input, StopReceiver::never(), output.clone()).await;
    let captured = output.capture();
    assert_eq!(captured.total, 1_000_000_011);
    assert_eq!(captured.omitted, captured.total - KEPT as u64);
    assert!(captured.text.len() <= KEPT + 100 && result.text.len() <= KEPT + 200);
    assert!(result.text.starts_with("first\ny\ny\n"));
    result.has("y\nlast\n[exit code 0]");
    result.has("[… 999983627 bytes left out …]");
}

/// A process that keeps the output open is killed, not waited for.
#[tokio::test]
async fn no_process_is_left_running_after_a_command() {
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
        let result = bench.call("run", json!({ "command": command })).await;
        let pid = result.text.lines().next().unwrap();
        assert!(pid.parse::<u32>().is_ok(), "{command}: {result:?}");
        result.has("[exit code 0]\n[killed what it had left running: ");
        assert!(!crate::stops::is_alive(pid), "{command}: {result:?}");
    }
    // A process that continues only briefly may finish.
    let result =
        bench.call("run", json!({ "command": "(sleep 0.02; echo late) & echo now" })).await;
    result.is("now\nlate\n[exit code 0]");
}

#[tokio::test]
async fn every_call_has_its_own_mark() {
    let bench = Bench::new();
    let mut marks = Vec::new();
    for _ in 0..2 {
        let result = bench.call("run", json!({ "command": "echo $FOXWEDGE_CALL" })).await;
        marks.push(result.text.lines().next().unwrap().to_owned());
    }
    for mark in &marks {
        // The maker comes first, then 32 random digits.
        let (maker, last) = mark.rsplit(':').next().unwrap().rsplit_once('-').unwrap();
        assert!(maker.starts_with(&std::process::id().to_string()), "{mark}");
        assert!(last.len() == 32 && last.bytes().all(|byte| byte.is_ascii_hexdigit()), "{mark}");
    }
    assert_ne!(marks.first(), marks.last());
}

#[tokio::test]
async fn time_limits_apply_whatever_the_call_requests() {
    let limits = ToolLimits {
        run: std::time::Duration::from_secs(900),
        run_max: std::time::Duration::from_secs(1),
        ..ToolLimits::default()
    };
    let bench = Bench::with(limits);
    let result = bench.call("run", json!({ "command": "echo early; sleep 1000" })).await;
    assert_eq!(result.completion, ToolCompletion::Failed);
    assert_eq!(result.text, "early\n[killed: it took longer than 1 s]");
}
