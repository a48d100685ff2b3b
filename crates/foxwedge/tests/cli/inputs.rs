//! What is read, and how much of it: files and pipes, no devices, and no more than is allowed.

use serde_json::Value;

use crate::{documents::*, sandbox::Sandbox};

const COMMANDS: [&[&str]; 5] = [
    &["check"],
    &["show"],
    &["resume"],
    &["compact", "--budget", "1000", "--dry-run"],
    &["convert", "--to", "anthropic"],
];

#[cfg(unix)]
#[test]
fn a_pipe_in_a_folder_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.path("fifo.json");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for command in COMMANDS {
        let ran = sandbox.run(&[command, &["fifo.json"]].concat());
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.err);
        assert!(ran.err.contains("not a regular file"), "{command:?}: {}", ran.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_end_is_refused() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let ran = sandbox.run(&[command, &["/dev/zero"]].concat());
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.err);
        assert!(ran.err.contains("not a regular file"), "{command:?}: {}", ran.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_pipe_of_another_command_is_read() {
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&["check", "/dev/stdin"], CHAT);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.all().contains("FW"), "{}", ran.all());
}

#[test]
fn what_is_larger_than_allowed_is_an_error_that_says_so() {
    let sandbox = Sandbox::with("large.json", format!("{SOUND}{}", " ".repeat(4_000)));
    for command in COMMANDS {
        let ran =
            sandbox.run_with("FOXWEDGE_MAX_INPUT", "1K", &[command, &["large.json"]].concat());
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.err);
        assert!(ran.err.contains("the limit of 1024 bytes"), "{command:?}: {}", ran.err);
        assert!(ran.err.contains("FOXWEDGE_MAX_INPUT"), "{command:?}: {}", ran.err);
    }
    assert_eq!(sandbox.run_with("FOXWEDGE_MAX_INPUT", "1M", &["check", "large.json"]).code, 0);
}

#[test]
fn more_findings_than_are_listed_are_counted_in_every_format() {
    const MANY: usize = 21_000;
    let answer = |at: usize| format!(r#"{{"role":"tool","tool_call_id":"o{at}","content":"x"}}"#);
    let answers: Vec<String> = (0..MANY).map(answer).collect();
    let document = format!(r#"{{"model":"gpt-4o","messages":[{}]}}"#, answers.join(","));
    let sandbox = Sandbox::with("many.json", document);
    let ran = |format| sandbox.run(&["check", "--output-format", format, "many.json"]);
    let json: Value = serde_json::from_str(&ran("json").out).unwrap();
    assert_eq!(json["summary"]["findings"], MANY);
    assert_eq!(json["summary"]["unlisted"], 1_000);
    assert_eq!(json["summary"]["by_rule"]["FW102"], MANY);
    assert_eq!(json["findings"].as_array().unwrap().len(), MANY - 1_000);
    let lines = ran("json-lines").out;
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["code"], &last["unlisted"]), (&"FW102".into(), &1_000.into()));
    for format in ["concise", "github"] {
        let out = ran(format).out;
        assert!(out.lines().last().unwrap().contains("… and 1000 more"), "{format}");
        assert_eq!(out.lines().count(), MANY - 1_000 + 1, "{format}");
    }
    assert!(ran("sarif").out.contains("FW102: … and 1000 more"));
    assert!(ran("markdown").out.contains("… and 20800 more"));
    assert!(ran("full").err.contains("Found 21000 findings in 1 file"));
    let counts = sandbox.run(&["check", "--statistics", "many.json"]).out;
    assert!(counts.contains("21000  FW102"), "{counts}");
    let fixed = sandbox.run(&["fix", "many.json"]);
    assert!(fixed.err.contains("Fixed 21000 findings in 1 file"), "{}", fixed.err);
    assert!(fixed.err.contains("messages[3] and 19996 more: "), "{}", fixed.err);
    assert!(fixed.err.contains("… and 1000 more steps"), "{}", fixed.err);
    assert_eq!(sandbox.run(&["check", "many.json"]).code, 0);
}
