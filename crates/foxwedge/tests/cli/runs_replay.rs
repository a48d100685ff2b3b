//! `foxwedge runs replay`: a file of events, without any store.

use serde_json::Value;

use crate::{follow_streams::*, sandbox::Sandbox};

/// The events of a recording, as lines.
fn events(sandbox: &Sandbox) -> Vec<String> {
    let stream = recording("claude-code-2.1.325-subagents-parallel");
    let ran = sandbox.pipe(&["follow", "--as", "jsonl", "--run", "r"], stream);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn the_truth_does_not_depend_on_the_order() {
    let sandbox = Sandbox::new();
    let lines = events(&sandbox);
    let replayed = |lines: &[String]| {
        let ran = sandbox.pipe(&["runs", "replay", "-"], lines.join("\n"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
        ran.out
    };
    let expected = replayed(&lines);
    let truth: Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(truth["runs"][0]["outcome"], "completed");
    // Chance, the same every time.
    let mut seed = 0x5eed_u64;
    for _ in 0..20 {
        let mut shuffled: Vec<String> = lines.iter().chain(&lines).cloned().collect();
        for place in (1..shuffled.len()).rev() {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(place, (seed >> 33) as usize % (place + 1));
        }
        assert_eq!(replayed(&shuffled), expected);
    }
}

#[test]
fn frames_can_be_had_instead() {
    let sandbox = Sandbox::new();
    let lines = events(&sandbox);
    sandbox.write("events.jsonl", lines.join("\n"));
    let ran = sandbox.run(&["runs", "replay", "events.jsonl", "--as", "jsonl"]);
    assert_eq!((ran.code, ran.out), (0, lines.join("\n") + "\n"));
    let frames = |flags: &[&str]| {
        sandbox.run(&[&["runs", "replay", "events.jsonl", "--as"], flags].concat())
    };
    let ran = frames(&["agui", "--sse"]);
    assert!(ran.out.starts_with("id: 1.1\ndata: {\"type\":\"RUN_STARTED\""), "{}", ran.out);
    assert_eq!(ran.out, frames(&["agui", "--sse", "--agui", "1"]).out);
    assert!(ran.out.contains("\"protocolVersion\":\"1.0\""), "{}", ran.out);
    assert!(!frames(&["agui", "--agui", "0"]).out.contains("protocolVersion"));
    assert!(!frames(&["acp"]).out.contains("\"state_update\""));
    assert!(frames(&["acp", "--acp", "2"]).out.contains("\"state\":\"idle\""));
    let ran = sandbox.run(&["runs", "replay", "events.jsonl", "--as", "agui", "--truth"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn what_is_missing_or_unreadable_is_said() {
    let sandbox = Sandbox::new();
    let mut lines = events(&sandbox);
    lines[2] = "{torn".to_owned();
    let ran = sandbox.pipe(&["runs", "replay", "-"], lines.join("\n"));
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(
        ran.err.contains("<stdin>: 1 line could not be read; the first is line 3"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("run `r`: event 3 is missing"), "{}", ran.err);
    let ran = sandbox.pipe(&["runs", "replay", "-"], lines[..5].join("\n"));
    assert_eq!(ran.code, 1, "{}", ran.all());
    for nothing in ["", "\n\n", "{}\n", "hello\n"] {
        let ran = sandbox.pipe(&["runs", "replay", "-"], nothing);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{nothing:?}");
        assert!(ran.err.contains("no run found"), "{}", ran.err);
    }
    let ran = sandbox.run(&["runs", "replay", "missing.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}
