//! Session files that agents wrote, recorded by us, and a few that were built by hand to show
//! what such files can look like.

use std::{collections::BTreeMap, fs, path::PathBuf};

use crate::support::{WAYS, shape};
use foxwedge_core::{CheckOptions, Policy, UnansweredPolicy};
use foxwedge_sessions::{AgentDetection, SessionAgent, detect_agent, readable_text};
use foxwedge_testkit::laws::{
    LawCase, LawTally,
    session::{RepairedSession, case, every_cut, judge, see},
};
use serde_json::Value;

/// The recorded files of Claude Code, and the rules that each of them breaks.
const CLAUDE_CODE: [(&str, &[u16]); 27] = [
    ("1.0.128/interrupt-mid-tool.final", &[]),
    ("1.0.128/kill9-mid-tool.after-kill", &[101, 101]),
    ("1.0.128/resume-after-kill9.after-resume", &[101, 101]),
    ("2.1.325/compact.final", &[]),
    ("2.1.325/duplicate-tool-id.final", &[]),
    ("2.1.325/forged-session-auto-continue.after", &[]),
    ("2.1.325/forged-session-fragmented.after", &[]),
    ("2.1.325/forged-session-no-input.after", &[]),
    ("2.1.325/forged-session-partial.after", &[]),
    ("2.1.325/forged-session-prompt.after", &[]),
    ("2.1.325/hook-defer-mcp1-resume.after-resume", &[]),
    ("2.1.325/hook-defer-mcp1.after-defer", &[]),
    ("2.1.325/hook-defer-mcp3-resume.after-resume", &[101, 101]),
    ("2.1.325/hook-defer-mcp3.after-defer", &[]),
    ("2.1.325/interrupt-mid-stream.final", &[]),
    ("2.1.325/interrupt-mid-tool.final", &[]),
    ("2.1.325/interrupt-while-permission-pending.final", &[]),
    ("2.1.325/kill9-mid-stream.after-kill", &[]),
    ("2.1.325/kill9-mid-tool.after-kill", &[101, 101]),
    ("2.1.325/kill9-while-permission-pending.after-kill", &[101, 101, 101]),
    ("2.1.325/resume-after-kill9-mid-stream.after-resume", &[]),
    ("2.1.325/resume-after-kill9-permission.after-resume", &[]),
    ("2.1.325/resume-after-kill9.after-resume", &[]),
    ("2.1.325/sdk-mcp-kill9.after-kill", &[101, 101]),
    ("2.1.325/sdk-mcp-resume-with-tool_result-message.after-resume", &[104, 104]),
    ("2.1.325/sigterm-mid-tool.final", &[101]),
    ("2.1.325/stdin-eof-mid-tool.final", &[]),
];

/// The built files: what each breaks, and what it tells.
const BUILT: [(&str, &[u16], &str); 9] = [
    (
        "parallel-results-as-siblings",
        &[],
        "u a+a[toolu_01A toolu_01B toolu_01C] r[toolu_01C toolu_01A toolu_01B] a u",
    ),
    (
        "results-between-the-lines-of-a-reply",
        &[],
        "u a[toolu_01A toolu_01B] r[toolu_01A toolu_01B] \
         a+a[toolu_01C toolu_01D] r[toolu_01C toolu_01D] a",
    ),
    ("progress-and-attachments-in-the-chain", &[], "u a[toolu_01A] r[toolu_01A] a"),
    (
        "compaction-with-preserved-messages",
        &[],
        "u a+a[toolu_01B] r[toolu_01B] a u a[toolu_01C] r[toolu_01C] a",
    ),
    ("file-of-a-sub-agent", &[], "u a[toolu_01A toolu_01B] r[toolu_01B toolu_01A] a"),
    ("sidechain-inside-a-file", &[], "u a[toolu_01A] r[toolu_01A] a"),
    ("branches", &[], "u a u a[toolu_01R] r[toolu_01R] a"),
    ("neovate-crash-during-a-call", &[101], "u a[toolu_001] r[toolu_001] a[toolu_002]"),
    (
        "neovate-cancelled-calls-as-siblings",
        &[702],
        "u a+a[toolu_001 toolu_002] r[toolu_001 toolu_002]+u",
    ),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions")
}

fn fixture(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn agent_of(name: &str, bytes: &[u8]) -> SessionAgent {
    let text = readable_text(bytes).expect("it is small enough");
    match detect_agent(text.as_str()) {
        AgentDetection::Known(agent) => agent,
        other => panic!("{name}: {other:?}"),
    }
}

fn asked(agent: SessionAgent, unanswered: UnansweredPolicy) -> LawCase {
    case(1, agent, Policy { unanswered, allow_unsafe: true, ..Policy::default() }, 0)
}

fn question(agent: SessionAgent) -> CheckOptions {
    asked(agent, UnansweredPolicy::Answer).question()
}

fn seen(name: &str, agent: SessionAgent, bytes: &[u8]) -> RepairedSession {
    see(agent, &question(agent), bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn codes(seen: &RepairedSession) -> Vec<u16> {
    seen.report.findings.iter().map(|finding| finding.rule.code).collect()
}

/// All laws hold for a file under every policy: sound for engine and oracle, nothing lost,
/// nothing else touched.
fn lawful(name: &str, agent: SessionAgent, bytes: &[u8]) {
    for unanswered in WAYS {
        let verdict = judge(&asked(agent, unanswered), agent, bytes, &mut LawTally::default());
        assert_eq!(verdict, Ok(()), "{name} under {}", unanswered.name());
    }
}

/// Calls that are reported open although the file holds an answer for each call of that id.
fn open_but_answered(seen: &RepairedSession, bytes: &[u8]) -> Vec<String> {
    let mut calls: BTreeMap<String, i64> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        let contents = [&record["message"]["content"], &record["content"], &record["payload"]];
        for block in contents.into_iter().flat_map(|content| match content {
            Value::Array(blocks) => blocks.clone(),
            other => vec![other.clone()],
        }) {
            let kind = block["type"].as_str().unwrap_or("");
            let keys = ["id", "call_id", "tool_use_id", "toolCallId"];
            let key = match kind {
                "tool_use" => keys[0],
                "function_call" | "function_call_output" => keys[1],
                "tool_result" => keys[2],
                "tool-result" => keys[3],
                _ => continue,
            };
            let answers = kind.ends_with("result") || kind.ends_with("output");
            let id = block[key].as_str().unwrap_or("").to_owned();
            *calls.entry(id).or_default() += if answers { -1 } else { 1 };
        }
    }
    let open = seen.report.findings.iter().filter(|finding| finding.rule.code == 101);
    let ids = open.flat_map(|finding| finding.ids.clone());
    ids.filter(|id| calls.get(id).is_some_and(|count| *count <= 0)).collect()
}

#[test]
fn recorded_files_of_claude_code_break_what_they_should_and_are_repaired() {
    for (name, expected) in CLAUDE_CODE {
        let bytes = fixture(&format!("claude-code/{name}.jsonl"));
        assert_eq!(agent_of(name, &bytes), SessionAgent::ClaudeCode, "{name}");
        let seen = seen(name, SessionAgent::ClaudeCode, &bytes);
        assert_eq!(codes(&seen), expected, "{name}");
        assert_eq!(open_but_answered(&seen, &bytes), Vec::<String>::new(), "{name}");
        lawful(name, SessionAgent::ClaudeCode, &bytes);
    }
}

#[test]
fn every_recorded_file_has_its_row() {
    let mut found: Vec<String> = Vec::new();
    for version in fs::read_dir(folder().join("claude-code")).expect("the folder is there") {
        let version = version.expect("it can be listed").path();
        for file in fs::read_dir(&version).expect("a version is a folder") {
            let file = file.expect("it can be listed").path();
            let name = |path: &PathBuf| {
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            };
            let stem = name(&file);
            found.push(format!("{}/{}", name(&version), stem.trim_end_matches(".jsonl")));
        }
    }
    found.sort();
    assert_eq!(found, CLAUDE_CODE.map(|(name, _)| name));
}

#[test]
fn a_rollout_of_codex_after_a_kill_is_repaired() {
    let name = "codex/codex-rollout-after-kill9.jsonl";
    let bytes = fixture(name);
    let agent = agent_of(name, &bytes);
    let seen = seen(name, agent, &bytes);
    // A long message of the developer was cut out of the fixture, and says nothing any more.
    assert_eq!((agent, codes(&seen)), (SessionAgent::Codex, vec![301, 101]));
    assert_eq!(open_but_answered(&seen, &bytes), Vec::<String>::new());
    lawful(name, agent, &bytes);
}

#[test]
fn recordings_of_other_agents_are_repaired() {
    let table = [
        ("pi/1.5.0/kill9-mid-tool.after-kill.jsonl", SessionAgent::Pi, vec![101, 101]),
        (
            "copilot-cli/1.0.102/kill9-mid-tool.after-kill.jsonl",
            SessionAgent::CopilotCli,
            vec![101],
        ),
        ("kimi-code/2.1.0/kill9-mid-tool.after-kill.jsonl", SessionAgent::KimiCode, vec![101]),
        (
            "qwen-code/0.24.4/kill9-mid-tool.after-kill.jsonl",
            SessionAgent::QwenCode,
            vec![101, 101],
        ),
        ("goose/1.52.0/two-calls.jsonl", SessionAgent::Goose, vec![]),
        ("goose/1.52.0/result-row-removed.jsonl", SessionAgent::Goose, vec![101]),
    ];
    for (name, agent, expected) in table {
        let bytes = fixture(name);
        assert_eq!(agent_of(name, &bytes), agent, "{name}");
        assert_eq!(codes(&seen(name, agent, &bytes)), expected, "{name}");
        lawful(name, agent, &bytes);
    }
}

#[test]
fn built_files_tell_what_their_names_say() {
    for (name, expected, tells) in BUILT {
        let bytes = fixture(&format!("built/{name}.jsonl"));
        let agent = agent_of(name, &bytes);
        let seen = seen(name, agent, &bytes);
        assert_eq!(codes(&seen), expected, "{name}");
        let tells: Vec<&str> = tells.split_whitespace().collect();
        assert_eq!(shape(&seen.history), tells.join(" "), "{name}");
        assert_eq!(open_but_answered(&seen, &bytes), Vec::<String>::new(), "{name}");
        lawful(name, agent, &bytes);
    }
}

/// At every byte of the last lines, and at every seventh of the recorded files: they are long, and
/// files like them are generated and cut everywhere.
#[test]
fn every_beginning_of_every_file_can_be_read_and_repaired() {
    for (name, ..) in BUILT {
        beginnings(&format!("built/{name}.jsonl"), 1);
    }
    for (name, _) in CLAUDE_CODE {
        beginnings(&format!("claude-code/{name}.jsonl"), 7);
    }
    beginnings("codex/codex-rollout-after-kill9.jsonl", 7);
}

fn beginnings(name: &str, step: usize) {
    let bytes = fixture(name);
    let agent = agent_of(name, &bytes);
    let verdict = every_cut(&asked(agent, UnansweredPolicy::Answer), agent, &bytes, step);
    assert_eq!(verdict, Ok(()), "{name}");
}

/// Real sessions are never in the project. `FOXWEDGE_SESSIONS` names a folder of them.
#[test]
fn real_sessions_where_they_are_at_hand() {
    let Some(folder) = std::env::var_os("FOXWEDGE_SESSIONS") else {
        println!("skipped: FOXWEDGE_SESSIONS names no folder");
        return;
    };
    let mut read = 0;
    for file in fs::read_dir(folder).expect("the folder that is named can be listed") {
        let path = file.expect("it can be listed").path();
        let name = path.display().to_string();
        let bytes = fs::read(&path).expect("a file can be read");
        let agent = agent_of(&name, &bytes);
        let seen = seen(&name, agent, &bytes);
        assert_eq!(open_but_answered(&seen, &bytes), Vec::<String>::new(), "{name}");
        lawful(&name, agent, &bytes);
        read += 1;
    }
    println!("{read} sessions");
}
