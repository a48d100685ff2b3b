//! Sessions of agents as their kill left them, in all commands; and the same files damaged in many
//! ways: repaired, listed as ok, and put back.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// An agent, the place of its session, and the recording of a session that was killed.
struct RecordedAgent {
    name: &'static str,
    path: &'static str,
    fixture: &'static str,
    /// The first lines without which the agent refuses the file.
    head: usize,
}

const ID: &str = "5e551011-0000-4000-8000-f0c5ed6e0001";

const RECORDED: [RecordedAgent; 3] = [
    RecordedAgent {
        name: "pi",
        path: ".pi/agent/sessions/--w-shop--/2026-11-18T03-09-33-698Z_5e551011-0000-4000-8000-f0c5ed6e0001.jsonl",
        fixture: "pi/1.5.0/kill9-mid-tool.after-kill.jsonl",
        head: 1,
    },
    RecordedAgent {
        name: "copilot-cli",
        path: ".copilot/session-state/5e551011-0000-4000-8000-f0c5ed6e0001/events.jsonl",
        fixture: "copilot-cli/1.0.102/kill9-mid-tool.after-kill.jsonl",
        head: 1,
    },
    RecordedAgent {
        name: "kimi-code",
        path: ".kimi-code/sessions/wd_shop/5e551011-0000-4000-8000-f0c5ed6e0001/agents/main/wire.jsonl",
        fixture: "kimi-code/2.1.0/kill9-mid-tool.after-kill.jsonl",
        head: 1,
    },
];

impl RecordedAgent {
    fn read(&self) -> Vec<u8> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions");
        fs::read(folder.join(self.fixture)).unwrap()
    }
}

fn listed(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run(&["list", "--output-format", "json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    listed["sessions"].as_array().unwrap().clone()
}

#[test]
fn every_command_works_on_a_session_that_was_killed() {
    for agent in &RECORDED {
        let sandbox = Sandbox::new();
        let file = sandbox.keep(agent.path, 1, agent.read());
        let sessions = listed(&sandbox);
        assert_eq!(sessions[0]["agent"], agent.name);
        assert_eq!(sessions[0]["id"], ID);
        assert_eq!(sessions[0]["health"], "ok", "{}", agent.name);
        for words in [
            &["show", ID][..],
            &["resume", ID],
            &["export", ID],
            &["check", ID],
            &["resume", "--to", "gemini", ID],
        ] {
            let ran = sandbox.run(words);
            assert_eq!(ran.code, 0, "{} {words:?}: {}", agent.name, ran.all());
        }
        let shown = sandbox.run(&["show", ID]);
        for text in ["TOOLS look around", "Looking.", "Done."] {
            assert!(shown.out.contains(text), "{}: {text}: {}", agent.name, shown.out);
        }
        // An open call at the end gets a result if that is asked for, and loses it again.
        let fixed = sandbox.run(&["fix", "--tail", "dead", ID]);
        assert_eq!(fixed.code, 0, "{}: {}", agent.name, fixed.all());
        assert!(fs::read_to_string(&file).unwrap().contains("[foxwedge] "), "{}", agent.name);
        let undone = sandbox.run(&["undo", ID]);
        assert_eq!(undone.code, 0, "{}: {}", agent.name, undone.all());
        assert_eq!(fs::read(&file).unwrap(), agent.read(), "{}", agent.name);
        let forked = sandbox.run(&["fork", ID]);
        if agent.name == "kimi-code" {
            assert_ne!(forked.code, 0);
            assert!(forked.err.contains("its own index"), "{}", forked.err);
            continue;
        }
        assert_eq!(forked.code, 0, "{}: {}", agent.name, forked.all());
        let ids: Vec<String> =
            listed(&sandbox).iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 2, "{}: {ids:?}", agent.name);
        assert_ne!(ids[0], ids[1]);
    }
}

#[test]
fn a_session_that_copilot_is_working_on_is_not_touched() {
    let [_, agent, _] = &RECORDED;
    let sandbox = Sandbox::new();
    let file = sandbox.keep(agent.path, 1, agent.read());
    let folder = file.parent().unwrap();
    let fix = || sandbox.run(&["fix", "--tail", "dead", ID]);
    let own = folder.join(format!("inuse.{}.lock", std::process::id()));
    fs::write(&own, "").unwrap();
    let refused = fix();
    assert_ne!(refused.code, 0, "{}", refused.all());
    assert!(refused.err.contains("this session is live"), "{}", refused.err);
    assert_eq!(fs::read(&file).unwrap(), agent.read());
    fs::remove_file(own).unwrap();
    assert_eq!(fix().code, 0);
}

#[test]
fn an_event_without_a_field_that_copilot_requires_is_removed() {
    let [_, agent, _] = &RECORDED;
    let text = String::from_utf8(agent.read()).unwrap();
    for kind in ["assistant.turn_end", "session.usage_record", "session.shutdown"] {
        let damaged = text.lines().map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            if event["type"] == kind {
                event["data"] = serde_json::json!({});
            }
            format!("{event}\n")
        });
        let sandbox = Sandbox::new();
        let file = sandbox.keep(agent.path, 1, damaged.collect::<String>());
        assert_eq!(listed(&sandbox)[0]["health"], "needs-repair", "{kind}");
        let checked = sandbox.run(&["check", ID]);
        assert!(checked.out.contains("FW805"), "{kind}: {}", checked.all());
        let fixed = sandbox.run(&["fix", ID]);
        assert_eq!(fixed.code, 0, "{kind}: {}", fixed.all());
        assert!(!fs::read_to_string(file).unwrap().contains(kind), "{kind}");
        assert_eq!(listed(&sandbox)[0]["health"], "ok", "{kind}: {}", fixed.all());
    }
}

#[test]
fn damaged_recordings_are_repaired_and_put_back() {
    for agent in &RECORDED {
        let mut count = 0;
        for (what, bytes) in damages(agent) {
            let sandbox = Sandbox::new();
            let file = sandbox.keep(agent.path, 1, &bytes);
            let name = file.to_string_lossy().into_owned();
            let fixed = sandbox.run(&["fix", &name]);
            assert_eq!(fixed.code, 0, "{} {what}: {}", agent.name, fixed.all());
            let after = fs::read(&file).unwrap();
            let health = listed(&sandbox)[0]["health"].clone();
            assert_eq!(health, "ok", "{} {what}: {}", agent.name, fixed.all());
            if after != bytes {
                let undone = sandbox.run(&["undo", &name]);
                assert_eq!(undone.code, 0, "{} {what}: {}", agent.name, undone.all());
                assert_eq!(fs::read(&file).unwrap(), bytes, "{} {what}", agent.name);
            }
            count += 1;
        }
        assert!(count >= 20, "{}: {count}", agent.name);
    }
}

/// The recording, damaged in seven ways, each at several places.
fn damages(agent: &RecordedAgent) -> Vec<(String, Vec<u8>)> {
    let bytes = agent.read();
    let lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let mut all = Vec::new();
    for at in (agent.head..lines.len()).step_by(2) {
        let line = &lines[at];
        let mut keep = |what: &str, changed: Vec<Vec<u8>>| {
            let before = &lines[..at];
            let behind = &lines[at + 1..];
            let all_lines = [before, &changed, behind].concat();
            all.push((format!("{what} at line {}", at + 1), all_lines.concat()));
        };
        keep("removed", Vec::new());
        keep("torn", vec![[&line[..line.len() / 2], b"\n"].concat()]);
        keep("twice", vec![line.clone(), line.clone()]);
        keep("zeros before", vec![[&[0; 64][..], line].concat()]);
        keep("half before", vec![[&line[..line.len() / 2], line].concat()]);
        keep("an unknown record before", vec![b"{\"type\":\"x\"}\n".to_vec(), line.clone()]);
    }
    let swap = |at: usize| {
        let mut lines = lines.clone();
        lines.swap(at, at + 1);
        (format!("swapped at line {}", at + 1), lines.concat())
    };
    all.extend((agent.head..lines.len() - 1).step_by(3).map(swap));
    all.push(("cut off".to_owned(), bytes[..bytes.len() - 40].to_vec()));
    all
}
