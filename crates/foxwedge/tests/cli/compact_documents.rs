//! Long conversations with many calls, the same in several formats.

use serde_json::{Value, json};

/// What the user wants, first and later.
pub(crate) const WISH: &str = "Please never use tabs.";
pub(crate) const LATER: &str = "Now the parser.";

/// What a tool said: long ones and short ones in turn.
fn said(turn: usize) -> String {
    let lines = if turn.is_multiple_of(3) { 2 } else { 40 };
    (0..lines).map(|line| format!("line {line} of answer {turn}: all is well\n")).collect()
}

/// The tool and the file of a turn: every fifth changes something, and files come back.
fn call(turn: usize) -> (&'static str, Value) {
    let path = format!("src/part{}.rs", turn % 7);
    let tool = match turn % 5 {
        0 => "Edit",
        1 | 2 => "Read",
        3 => "Grep",
        _ => "Bash",
    };
    (tool, json!({ "file_path": path }))
}

/// OpenAI's format: instructions, a wish, so many turns, a second wish in the middle.
pub(crate) fn chat(turns: usize) -> String {
    let mut messages = vec![
        json!({ "role": "system", "content": "You write code." }),
        json!({ "role": "user", "content": WISH }),
    ];
    for turn in 0..turns {
        if turn == turns / 2 {
            messages.push(json!({ "role": "assistant", "content": "The lexer is done." }));
            messages.push(json!({ "role": "user", "content": LATER }));
        }
        let (tool, arguments) = call(turn);
        let (id, arguments) = (format!("call_{turn}"), arguments.to_string());
        messages.push(json!({ "role": "assistant", "content": format!("Step {turn}."), "tool_calls": [
            { "id": id, "type": "function", "function": { "name": tool, "arguments": arguments } }
        ]}));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": said(turn) }));
    }
    request(json!({ "model": "gpt-4o", "messages": messages }))
}

/// Anthropic's format of the same.
pub(crate) fn anthropic(turns: usize) -> String {
    let tools = ["Edit", "Read", "Grep", "Bash"]
        .map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    request(json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 1000,
        "system": "You write code.",
        "tools": tools,
        "messages": blocks(turns),
    }))
}

/// The messages alone.
pub(crate) fn blocks(turns: usize) -> Vec<Value> {
    let mut messages = vec![json!({ "role": "user", "content": WISH })];
    for turn in 0..turns {
        if turn == turns / 2 {
            let done = json!([{ "type": "text", "text": "The lexer is done." }]);
            messages.push(json!({ "role": "assistant", "content": done }));
            messages.push(json!({ "role": "user", "content": LATER }));
        }
        let (tool, input) = call(turn);
        let id = format!("toolu_{turn}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "text", "text": format!("Step {turn}.") },
            { "type": "tool_use", "id": id, "name": tool, "input": input },
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": said(turn) },
        ]}));
    }
    messages
}

/// A session of Claude Code with the same conversation.
pub(crate) fn claude_code(id: &str, turns: usize) -> String {
    let mut lines = String::new();
    let mut parent = Value::Null;
    for (at, mut message) in blocks(turns).into_iter().enumerate() {
        let uuid = format!("{at:08x}-0000-4000-8000-000000000000");
        let role = message["role"].clone();
        if role == "assistant" {
            message["id"] = json!(format!("msg_{at}"));
            message["type"] = json!("message");
            message["model"] = json!("claude-sonnet-4-5");
        }
        let record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/x",
            "sessionId": id, "version": "2.1.0", "type": role, "message": message, "uuid": uuid,
            "timestamp": format!("2026-01-01T10:{:02}:{:02}.000Z", at / 60, at % 60),
        });
        lines.push_str(&format!("{record}\n"));
        parent = json!(uuid);
    }
    lines
}

fn request(request: Value) -> String {
    serde_json::to_string_pretty(&request).unwrap() + "\n"
}
