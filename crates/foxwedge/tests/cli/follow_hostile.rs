//! Streams as they should not be: torn, huge, in the wrong order, or no streams at all.

use serde_json::Value;

use crate::{follow_streams::*, sandbox::Sandbox};

#[test]
fn a_stream_cut_anywhere_ends_in_an_honest_end() {
    let sandbox = Sandbox::new();
    let whole = whole();
    let first = init().len();
    for end in (first..whole.len()).step_by(97) {
        let ran =
            sandbox.pipe(&["follow", "--as", "jsonl", "--run", "r"], &whole.as_bytes()[..end]);
        assert_eq!(ran.code, 1, "cut at {end}: {}", ran.all());
        let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["type"], &last["reason"]),
            (&"run-ended".into(), &"interrupted".into()),
            "cut at {end}"
        );
    }
}

#[test]
fn a_call_at_work_when_the_stream_ends_may_have_run() {
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&["follow", "--run", "r"], [init(), call("t1", "make")].concat());
    assert_eq!(ran.code, 1);
    let told = timeless(&ran.out);
    assert!(told.contains("⚠ Bash  make  stopped, may have run\n"), "{told}");
    assert!(
        told.contains("⚠ interrupted: the output of the agent ended before the run ended"),
        "{told}"
    );
    assert!(told.contains("1 call: 1 may have run"), "{told}");
}

#[test]
fn garbage_between_lines_is_counted_and_said() {
    let sandbox = Sandbox::new();
    let noisy = [
        "npm warn deprecated\n",
        &init(),
        "\u{0}\u{1}\n",
        "[1,2]\n",
        &call("t1", "make"),
        "{\"type\":\n",
        "\n",
        &answer("t1", "ok"),
        &says("Done."),
        &result("Done."),
        "{\"torn\":\"at the e",
    ]
    .concat();
    let ran = sandbox.pipe(&["follow"], &noisy);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("✓ completed"), "{}", ran.out);
    assert!(
        ran.err.contains("note: 5 lines could not be read; the first is line 2"),
        "{}",
        ran.err
    );
}

#[test]
fn bytes_that_are_no_text_spoil_only_themselves() {
    let sandbox = Sandbox::new();
    let mut stream = [init(), says("caf#.")].concat().into_bytes();
    let place = stream.iter().rposition(|byte| *byte == b'#').unwrap();
    stream[place] = 0xe9;
    stream.extend_from_slice(result("").as_bytes());
    let ran = sandbox.pipe(&["follow"], &stream);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("caf\u{fffd}."), "{}", ran.out);
}

#[test]
fn a_huge_line_takes_no_other_with_it() {
    let sandbox = Sandbox::new();
    let huge = "x".repeat(20 << 20);
    let stream = [init(), call("t1", "make"), answer("t1", &huge), says("Done."), result("Done.")];
    let ran = sandbox.pipe(&["follow", "--store", "runs.db"], stream.concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = "note: 1 line could not be read, 1 of them too long; the first is line 3";
    assert!(ran.err.contains(said), "{}", ran.err);
    // Its answer is lost, and nobody claims to know it.
    assert!(timeless(&ran.out).contains("⚠ Bash  make  stopped, may have run"), "{}", ran.out);
    let large = "y".repeat(6 << 20);
    let stream = [init(), call("t1", "make"), answer("t1", &large), says("Done."), result("Done.")];
    let ran = sandbox.pipe(&["follow", "--store", "runs.db", "--run", "large"], stream.concat());
    assert_eq!((ran.code, ran.err.contains("note:")), (0, false), "{}", ran.err);
    let ran = sandbox.run(&["runs", "events", "large", "--store", "runs.db"]);
    assert!(ran.out.contains(&large), "{}", ran.err);
}

#[test]
fn many_events_are_followed_and_kept() {
    let sandbox = Sandbox::new();
    let mut stream = init();
    for number in 0..6_000 {
        let id = format!("t{number}");
        stream.push_str(&call(&id, "make").replace("msg_1", &format!("msg_{number}")));
        if number % 2 == 0 {
            stream.push_str(&answer(&id, "ok"));
        }
    }
    let ran =
        sandbox.pipe(&["follow", "--store", "runs.db", "--run", "r", "--as", "jsonl"], &stream);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(!ran.err.contains("note:"), "{}", ran.err);
    let ran = sandbox.run(&["runs", "show", "r", "--store", "runs.db"]);
    assert!(ran.out.contains("6000 calls: 3000 done, 3000 may have run"), "{}", ran.err);
    // More messages than a store takes at once, and all of them are there.
    let ran = sandbox.run(&["store", "path", "--store", "runs.db"]);
    assert!(ran.out.contains("records  12000\n"), "{}", ran.out);
}

/// The events of one run, as lines.
fn events(sandbox: &Sandbox) -> Vec<String> {
    let stream = recording("claude-code-2.1.325-parallel3-errors");
    let ran = sandbox.pipe(&["follow", "--as", "jsonl", "--run", "r"], stream);
    ran.out.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn events_in_any_order_and_twice_are_the_same_run() {
    let sandbox = Sandbox::new();
    let lines = events(&sandbox);
    let followed = |lines: &[String]| {
        let ran = sandbox.pipe(&["follow", "--as", "jsonl"], lines.concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
        ran.out
    };
    let expected = followed(&lines);
    assert_eq!(expected, lines.concat());
    let mut backwards = lines.clone();
    backwards.reverse();
    assert_eq!(followed(&backwards), expected);
    let twice: Vec<String> = lines.iter().rev().chain(&lines).cloned().collect();
    assert_eq!(followed(&twice), expected);
}

#[test]
fn events_with_a_gap_are_kept_without_one() {
    let sandbox = Sandbox::new();
    let mut lines = events(&sandbox);
    lines.remove(4);
    let arguments = ["follow", "--from", "events", "--store", "runs.db", "--as", "jsonl"];
    let ran = sandbox.pipe(&arguments, lines.concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("note: run `r`: event 5 is missing"), "{}", ran.err);
    let kept = sandbox.run(&["runs", "events", "r", "--store", "runs.db"]);
    assert_eq!(kept.out, ran.out);
    let places: Vec<u64> = kept
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
}

#[test]
fn nothing_on_a_terminal_moves_the_cursor() {
    let sandbox = Sandbox::new();
    let evil = "\\u001b[2J\\u001b]0;title\\u0007\\u202e";
    let stream = [init(), says(evil), call("t1", evil), answer("t1", evil), result(evil)].concat();
    let ran = sandbox.pipe(&["follow", "--store", "runs.db", "--run", "r"], stream);
    let shown = sandbox.run(&["runs", "show", "r", "--store", "runs.db"]);
    let listed = sandbox.run(&["runs", "--store", "runs.db"]);
    for text in [&ran.out, &ran.err, &shown.out, &listed.out] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}
