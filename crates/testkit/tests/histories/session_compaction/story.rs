//! One short conversation, as each agent keeps it.

use foxwedge_formats::outline_options;
use foxwedge_sessions::{
    CompactedFile, CompactedFileMessage, CompactionError, SessionAgent, read, readable_text,
};
use serde_json::{Value, json};

use super::workshop::MARKER;

/// What the summaries of these tests say.
pub(crate) const SUMMARY: &str = "Summary: the place was found.";

/// A question, a call with its answer, a reply; then another question and its reply.
pub(crate) fn story(agent: SessionAgent) -> Vec<u8> {
    let records: Vec<Value> = match agent {
        SessionAgent::ClaudeCode => claude_code(),
        SessionAgent::Neovate => neovate(),
        SessionAgent::Codex => codex(),
        SessionAgent::GeminiCli => gemini_cli(),
        SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => Vec::new(),
        SessionAgent::Cline => return (Value::Array(cline()).to_string() + "\n").into_bytes(),
    };
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

fn blocks() -> [(&'static str, Value); 6] {
    let call = json!({"type": "tool_use", "id": "x", "name": "grep", "input": {"at": 1}});
    let answer = json!({"type": "tool_result", "tool_use_id": "x", "content": "found in a.rs"});
    [
        ("user", json!("Find it.")),
        ("assistant", json!([{"type": "text", "text": "Looking."}, call])),
        ("user", json!([answer])),
        ("assistant", json!([{"type": "text", "text": "It is in a.rs."}])),
        ("user", json!("Change it.")),
        ("assistant", json!([{"type": "text", "text": "Changed."}])),
    ]
}

fn linked(at: usize) -> Value {
    let parent = at.checked_sub(1).map(|at| format!("r{at}"));
    json!({"uuid": format!("r{at}"), "parentUuid": parent, "sessionId": "5e55107f",
        "timestamp": format!("2026-02-04T10:00:0{at}.000Z")})
}

fn claude_code() -> Vec<Value> {
    let records = blocks().into_iter().enumerate().map(|(at, (role, content))| {
        let mut record = linked(at);
        record["type"] = json!(role);
        record["isSidechain"] = json!(false);
        record["message"] = json!({"role": role, "content": content});
        if role == "assistant" {
            record["message"]["id"] = json!(format!("msg_{at}"));
            record["requestId"] = json!(format!("req_{at}"));
        }
        if at == 2 {
            record["sourceToolAssistantUUID"] = json!("r1");
        }
        record
    });
    records.collect()
}

fn neovate() -> Vec<Value> {
    let records = blocks().into_iter().enumerate().map(|(at, (role, content))| {
        let mut record = linked(at);
        record["type"] = json!("message");
        let result = json!({"type": "tool-result", "toolCallId": "x", "toolName": "grep",
            "input": {"at": 1}, "result": {"llmContent": "found in a.rs"}});
        record["role"] = json!(if at == 2 { "tool" } else { role });
        record["content"] = if at == 2 { json!([result]) } else { content };
        record
    });
    records.collect()
}

fn codex() -> Vec<Value> {
    let says = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    };
    let items = [
        says("user", "Find it."),
        says("assistant", "Looking."),
        json!({"type": "function_call", "call_id": "x", "name": "grep", "arguments": "{\"at\":1}"}),
        json!({"type": "function_call_output", "call_id": "x", "output": "found in a.rs"}),
        says("assistant", "It is in a.rs."),
        says("user", "Change it."),
        says("assistant", "Changed."),
    ];
    let meta = json!({"id": "01a1", "cwd": "/src", "cli_version": "0.166.0"});
    let head = json!({"timestamp": "2026-02-04T10:00:00.000Z", "ordinal": 0,
        "type": "session_meta", "payload": meta});
    let items = (1..).zip(items).map(|(at, item)| {
        json!({"timestamp": format!("2026-02-04T10:00:0{at}.000Z"), "ordinal": at,
            "type": "response_item", "payload": item})
    });
    [head].into_iter().chain(items).collect()
}

fn gemini_cli() -> Vec<Value> {
    let response = json!([{"functionResponse": {"id": "x", "name": "grep",
        "response": {"output": "found in a.rs"}}}]);
    let call = json!({"id": "x", "name": "grep", "args": {"at": 1}, "result": response,
        "status": "success"});
    let says = |id: &str, kind: &str, text: &str| json!({"id": id, "timestamp": "2026-02-04T10:00:00.000Z", "type": kind, "content": text});
    let mut looks = says("m2", "gemini", "Looking.");
    looks["toolCalls"] = json!([call]);
    vec![
        json!({"sessionId": "5e55107f", "projectHash": "p", "startTime": "2026-02-04T10:00:00.000Z"}),
        says("m1", "user", "Find it."),
        looks,
        says("m3", "gemini", "It is in a.rs."),
        says("m4", "user", "Change it."),
        says("m5", "gemini", "Changed."),
    ]
}

fn cline() -> Vec<Value> {
    let messages = (0..).zip(blocks());
    messages
        .map(|(at, (role, content))| json!({"role": role, "content": content, "ts": 1_000 + 10 * at}))
        .collect()
}

/// A message of the user's, as the agent's provider spells it.
pub(crate) fn says(agent: SessionAgent, text: &str) -> String {
    let message = match agent {
        SessionAgent::Codex => json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]}),
        SessionAgent::GeminiCli => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    };
    message.to_string()
}

/// What is left of a message.
pub(crate) enum Left {
    Kept(usize),
    Changed(usize, String),
    New(String),
}

/// The messages that a file tells, one by one.
pub(crate) fn told(agent: SessionAgent, bytes: &[u8]) -> Vec<Value> {
    let text = readable_text(bytes).expect("it is text");
    let session = read(&text, agent, outline_options(agent.profile())).expect("it can be read");
    serde_json::from_str(&session.history()).expect("it is JSON")
}

/// A file with a compaction in it that leaves certain messages.
pub(crate) fn leave(
    agent: SessionAgent,
    bytes: &[u8],
    left: &[Left],
) -> Result<Vec<u8>, CompactionError> {
    let messages = told(agent, bytes);
    let json = |at: &usize| messages.get(*at).map_or("{}".to_owned(), Value::to_string);
    let left: Vec<(Option<usize>, bool, String)> = left
        .iter()
        .map(|left| match left {
            Left::Kept(at) => (Some(*at), true, json(at)),
            Left::Changed(at, text) => (Some(*at), false, text.clone()),
            Left::New(text) => (None, false, text.clone()),
        })
        .collect();
    let shown = left.iter().map(|(origin, kept, json)| CompactedFileMessage {
        origin: *origin,
        kept: *kept,
        json,
    });
    let condensed =
        CompactedFile { messages: shown.collect(), marker: MARKER, tokens_before: 1234 };
    let text = readable_text(bytes).expect("it is text");
    let session = read(&text, agent, outline_options(agent.profile())).expect("it can be read");
    session.write_compaction(&condensed).map(|rewritten| {
        let mut bytes = Vec::new();
        rewritten.write_to(&mut bytes).expect("memory takes everything");
        bytes
    })
}

/// The story with a summary in place of everything but its last question and reply.
pub(crate) fn summarized(agent: SessionAgent) -> Vec<u8> {
    let bytes = story(agent);
    let count = told(agent, &bytes).len();
    let left = [Left::New(says(agent, SUMMARY)), Left::Kept(count - 2), Left::Kept(count - 1)];
    leave(agent, &bytes, &left).expect("it can be made shorter")
}

/// The lines of a file as values; the elements of a list.
pub(crate) fn records(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut values: Vec<Value> =
        lines.map(|line| serde_json::from_slice(line).expect("a line is JSON")).collect();
    match values.as_mut_slice() {
        [Value::Array(list)] => std::mem::take(list),
        _ => values,
    }
}
