//! Agents whose sessions are read and never written: Continue, Droid, kimi-cli and Zed.

use std::{fs, path::PathBuf};

use rusqlite::{Connection, params};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox};

const ID: &str = "5f0c1a52-9a63-4f0e-8f4e-1d2c3b4a5968";

/// Writes a session, and returns its file.
type WriteSession = fn(&Sandbox) -> PathBuf;

/// A session of each of them: two parallel calls, of which the second has no result.
const AGENTS: [(&str, WriteSession); 4] = [
    ("continue", continue_session),
    ("droid", droid_session),
    ("kimi-cli", kimi_cli_session),
    ("zed", zed_session),
];

fn continue_session(sandbox: &Sandbox) -> PathBuf {
    let call = |id: &str| {
        json!({"id": id, "type": "function",
            "function": {"name": "Read", "arguments": "{\"filepath\":\"fox.txt\"}"}})
    };
    let state = |id: &str, status: &str, output: Option<&str>| {
        let mut state = json!({"toolCallId": id, "toolCall": call(id), "status": status,
            "parsedArgs": {"filepath": "fox.txt"}});
        if let Some(output) = output {
            state["output"] = json!([{"content": output, "name": "Read", "description": "Result"}]);
        }
        state
    };
    let session = json!({
        "title": "A fox",
        "history": [
            {"message": {"role": "user", "content": "Where is the fox?"},
                "contextItems": [{"name": "den.txt", "description": "", "content": "a den"}]},
            {"message": {"role": "thinking", "content": "Let me look."}, "contextItems": []},
            {"message": {"role": "assistant", "content": "I look.",
                "toolCalls": [call("call_1"), call("call_2"), call("call_3")]},
                "contextItems": [], "toolCallStates": [
                    state("call_1", "done", Some("under the hedge")),
                    state("call_3", "calling", None)]},
        ],
    });
    // These come first, as in Continue's files.
    let text = serde_json::to_string_pretty(&session).unwrap();
    let text =
        format!("{{\"sessionId\": \"{ID}\", \"workspaceDirectory\": \"/w/shop\",{}", &text[1..]);
    sandbox.keep(".continue/sessions/sessions.json", 1, "[]");
    sandbox.keep(&format!(".continue/sessions/{ID}.json"), 1, &text)
}

fn droid_session(sandbox: &Sandbox) -> PathBuf {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "fox.txt"}});
    let message = |number: usize, role: &str, content: Value| {
        let event = json!({"id": number.to_string(), "timestamp": "2026-11-18T12:00:00.000Z",
            "message": {"role": role, "content": content}});
        // The type comes first, as in Droid's files.
        format!("{{\"type\":\"message\",{}\n", &event.to_string()[1..])
    };
    let start = json!({"id": ID, "title": "A fox", "owner": "me", "version": 2, "cwd": "/w/shop"});
    let reply = json!([{"type": "thinking", "thinking": "Let me look.", "signature": "sig"},
        {"type": "text", "text": "I look."}, call("call_1"), call("call_2")]);
    let result = json!([{"type": "tool_result", "tool_use_id": "call_1",
        "content": "under the hedge", "is_error": false}]);
    let text = format!(
        "{{\"type\":\"session_start\",{}\n{}{}{}",
        &start.to_string()[1..],
        message(1, "user", json!([{"type": "text", "text": "Where is the fox? a den"}])),
        message(2, "assistant", reply),
        message(3, "user", result),
    );
    sandbox.keep(&format!(".factory/sessions/-w-shop/{ID}.jsonl"), 1, &text)
}

fn kimi_cli_session(sandbox: &Sandbox) -> PathBuf {
    let call = |id: &str| {
        json!({"type": "function", "id": id,
            "function": {"name": "Read", "arguments": "{\"path\":\"fox.txt\"}"}})
    };
    let lines = [
        json!({"role": "_system_prompt", "content": "You are Kimi."}),
        json!({"role": "_checkpoint", "id": 0}),
        json!({"role": "user", "content": "Where is the fox? a den"}),
        json!({"role": "assistant", "content": [{"type": "think", "think": "Let me look."},
            {"type": "text", "text": "I look."}], "tool_calls": [call("call_1"), call("call_2")]}),
        json!({"role": "_usage", "token_count": 12}),
        json!({"role": "tool", "content": "under the hedge", "tool_call_id": "call_1"}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // As Python writes it.
    let text = text.replace("\"role\":", "\"role\": ");
    sandbox.keep(&format!(".kimi/sessions/0a1b2c/{ID}/context.jsonl"), 1, &text)
}

fn zed_session(sandbox: &Sandbox) -> PathBuf {
    let call = |id: &str| {
        json!({"ToolUse": {"id": id, "name": "read_file", "raw_input": "{}",
            "input": {"type": "json", "value": {"path": "fox.txt"}}, "is_input_complete": true,
            "thought_signature": null}})
    };
    let result = json!({"tool_use_id": "call_1", "tool_name": "read_file", "is_error": false,
        "content": [{"Text": "under the hedge"}], "output": null});
    let messages = json!([
        {"User": {"id": "u1", "content": [{"Text": "Where is the fox?"},
            {"Mention": {"uri": {"File": {"abs_path": "/w/shop/den.txt"}}, "content": "a den"}}]}},
        {"Agent": {"content": [{"Thinking": {"text": "Let me look.", "signature": "sig"}},
            {"Text": "I look."}, call("call_1"), call("call_2")],
            "tool_results": {"call_1": result}, "reasoning_details": null}},
    ]);
    zed_thread(sandbox, "0.3.0", &messages)
}

fn zed_thread(sandbox: &Sandbox, version: &str, messages: &Value) -> PathBuf {
    let thread = json!({"title": "A fox", "messages": messages, "version": version,
        "updated_at": "2026-11-18T12:00:00Z", "model": {"provider": "anthropic", "model": "m"}});
    let folder = sandbox.home().join(".local/share/zed/threads");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("threads.db");
    let database = Connection::open(&path).unwrap();
    let schema = "CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, \
                  updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL, \
                  parent_id TEXT, folder_paths TEXT, folder_paths_order TEXT, created_at TEXT)";
    database.execute(schema, []).unwrap();
    let data = compress_to_vec(thread.to_string().as_bytes(), CompressionLevel::Fastest);
    let row = "INSERT OR REPLACE INTO threads VALUES \
               (?1, 'A fox', '2026-11-18T12:00:00+00:00', 'zstd', ?2, NULL, '/w/shop', '0', NULL)";
    database.execute(row, params![ID, data]).unwrap();
    path
}

fn run(sandbox: &Sandbox, code: i32, arguments: &[&str]) -> Ran {
    let ran = sandbox.run(arguments);
    assert_eq!(ran.code, code, "{arguments:?}: {}", ran.all());
    ran
}

#[test]
fn sessions_that_are_only_read_go_through_every_command_that_reads() {
    for (agent, write) in AGENTS {
        let sandbox = Sandbox::new();
        let path = write(&sandbox);
        let before = fs::read(&path).unwrap();
        let listed = run(&sandbox, 0, &["list"]);
        assert!(listed.out.contains(agent), "{agent}: {}", listed.all());
        assert!(!listed.err.contains("foxwedge fix"), "{agent}: {}", listed.all());
        let health = if agent == "zed" { "history missing" } else { "needs repair" };
        assert!(listed.out.contains(health), "{agent}: {}", listed.all());
        let json: Value =
            serde_json::from_str(&run(&sandbox, 0, &["list", "--output-format", "json"]).out)
                .unwrap();
        let session = &json["sessions"][0];
        assert_eq!((&session["agent"], &session["messages"]), (&json!(agent), &json!(3)), "{json}");
        let shown = run(&sandbox, 0, &["show", ID]).out;
        for text in ["I look.", "under the hedge"] {
            assert!(shown.contains(text), "{agent}, {text}: {shown}");
        }
        assert!(!shown.contains("foxwedge fix"), "{agent}: {shown}");
        let checked = run(&sandbox, 1, &["check", "--for-api", ID]).all();
        assert!(checked.contains("FW101") && checked.contains("call_2"), "{agent}: {checked}");
        let exported = run(&sandbox, 0, &["export", ID]).out;
        for text in ["Where is the fox?", "a den", "Let me look.", "I look.", "under the hedge"] {
            assert!(exported.contains(text), "{agent}, {text}: {exported}");
        }
        let cancelled = exported.contains("Tool cancelled");
        assert_eq!(cancelled, agent == "continue", "as it is sent: {exported}");
        let history: Value = serde_json::from_str(&run(&sandbox, 0, &["resume", ID]).out).unwrap();
        let results = history.as_array().unwrap().last().unwrap()["content"].as_array().unwrap();
        let calls = if agent == "continue" { 3 } else { 2 };
        assert_eq!(results.len(), calls, "the open call gets a result: {history}");
        assert_eq!(fs::read(&path).unwrap(), before, "{agent}");
    }
}

#[test]
fn a_repair_of_a_session_that_is_only_read_is_refused_with_the_reason() {
    for (agent, write) in AGENTS {
        let sandbox = Sandbox::new();
        let path = write(&sandbox);
        let before = fs::read(&path).unwrap();
        let commands: [&[&str]; 4] = [
            &["fix", ID],
            &["fix", "--for-api", "--diff", ID],
            &["fix", "--dry-run", ID],
            &["fork", ID],
        ];
        for command in commands {
            let ran = run(&sandbox, 2, command);
            let refused = ran.err.contains(&format!("sessions of {agent} are only read"));
            assert!(refused && ran.err.contains("fork --to"), "{command:?}: {}", ran.all());
        }
        run(&sandbox, 2, &["compact", ID, "--to", "10"]);
        run(&sandbox, 0, &["fix", "--broken", "--yes"]);
        assert_eq!(fs::read(&path).unwrap(), before, "{agent}");
        let forked = run(&sandbox, 0, &["fork", ID, "--to", "claude-code"]);
        let copy = forked.out.trim();
        let shown = run(&sandbox, 0, &["show", copy]).out;
        assert!(shown.contains("under the hedge"), "{agent}: {shown}");
        run(&sandbox, 0, &["check", "--for-api", copy]);
    }
}

#[test]
fn what_an_agent_itself_leaves_out_is_left_out() {
    let sandbox = Sandbox::new();
    let user = |text: &str| json!({"User": {"id": "u", "content": [{"Text": text}]}});
    let agent = |text: &str| json!({"Agent": {"content": [{"Text": text}], "tool_results": {}, "reasoning_details": null}});
    let summary = json!({"Compaction": {"Summary": "They looked for a fox."}});
    let messages =
        json!([user("first"), agent("gone"), summary, user("second"), "Resume", agent("last")]);
    zed_thread(&sandbox, "0.3.0", &messages);
    let shown = run(&sandbox, 0, &["show", ID]).out;
    assert!(!shown.contains("gone"), "{shown}");
    for text in ["first", "They looked for a fox.", "second", "Continue where", "last"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let older = json!([
        {"id": 1, "role": "user", "segments": [{"type": "text", "text": "older words"}]},
        {"id": 2, "role": "assistant", "segments": [{"type": "text", "text": "older reply"}],
            "tool_uses": [{"id": "call_1", "name": "grep", "input": {"q": "fox"}}]},
        {"id": 3, "role": "user", "segments": [],
            "tool_results": [{"tool_use_id": "call_1", "is_error": false, "content": "found it"}]},
    ]);
    zed_thread(&sandbox, "0.1.0", &older);
    run(&sandbox, 0, &["check", "--for-api", ID]);
    assert!(run(&sandbox, 0, &["show", ID]).out.contains("found it"));
}

#[test]
fn a_session_that_is_not_whole_is_named_with_its_error() {
    let sandbox = Sandbox::new();
    let path = continue_session(&sandbox);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let listed = run(&sandbox, 2, &["list"]);
    assert!(listed.all().contains("not whole"), "{}", listed.all());
    let checked = run(&sandbox, 2, &["check", ID]);
    assert!(checked.err.contains("not whole"), "{}", checked.all());

    // kimi-cli leaves out a torn line and goes on.
    let sandbox = Sandbox::new();
    let path = kimi_cli_session(&sandbox);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"role\": \"user\", \"conte")).unwrap();
    assert!(run(&sandbox, 1, &["check", "--for-api", ID]).all().contains("FW801"));
}
