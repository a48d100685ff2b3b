//! Writes a turn as the flat items of the Responses format.

use serde_json::{Value, json};

use super::draft::{
    GeneratedCall, GeneratedPart, GeneratedResult, GeneratedThinking, GeneratedTurn, TurnSpeaker,
};
use super::render::{object, role};

/// The items of all turns, in order.
pub(super) fn of_turns(turns: &[GeneratedTurn]) -> Vec<Value> {
    let parts = turns.iter().flat_map(|turn| turn.parts.iter().map(move |part| (turn, part)));
    parts.enumerate().map(|(at, (turn, part))| item(turn, part, at)).collect()
}

fn item(turn: &GeneratedTurn, part: &GeneratedPart, at: usize) -> Value {
    match part {
        GeneratedPart::Text(text) => message(turn, text, at),
        GeneratedPart::Call(call) => of_call(call),
        GeneratedPart::Answer(answer) => of_answer(answer),
        GeneratedPart::Thinking(thinking) => reasoning(thinking),
        GeneratedPart::ServerCall(id) => json!({
            "type": "web_search_call", "id": format!("ws_{id}"), "status": "completed"
        }),
        GeneratedPart::ServerAnswer(id) => {
            json!({"type": "mcp_call", "id": format!("mcp_{id}"), "output": "2"})
        }
    }
}

fn message(turn: &GeneratedTurn, text: &str, at: usize) -> Value {
    let role = role(turn.speaker);
    match (turn.speaker, turn.plain) {
        (_, true) => json!({"role": role, "content": text}),
        (TurnSpeaker::Assistant, false) => json!({
            "type": "message", "id": format!("msg_{at}"), "role": role, "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]
        }),
        (TurnSpeaker::User | TurnSpeaker::System, false) => json!({
            "type": "message", "role": role, "content": [{"type": "input_text", "text": text}]
        }),
    }
}

fn of_call(call: &GeneratedCall) -> Value {
    let name = Some(json!(call.name));
    let mut fields = vec![
        ("type", Some(json!(call.family))),
        ("call_id", call.id.clone()),
        ("id", call.item.as_ref().map(|item| json!(item))),
    ];
    match call.family {
        "function_call" => {
            fields.extend([("name", name), ("arguments", Some(json!(call.arguments.to_string())))]);
        }
        "custom_tool_call" => {
            fields.extend([("name", name), ("input", Some(json!("free text")))]);
        }
        "local_shell_call" => {
            fields.push(("action", Some(json!({"type": "exec", "command": ["ls"], "env": {}}))));
        }
        "shell_call" => fields.push(("action", Some(json!({"commands": ["ls"]})))),
        "apply_patch_call" => {
            fields.push(("operation", Some(json!({"type": "delete_file", "path": "a"}))));
        }
        "computer_call" => fields.push(("action", Some(json!({"type": "screenshot"})))),
        _ => fields.extend([
            ("arguments", Some(json!({"query": "fox"}))),
            ("execution", Some(json!("client"))),
        ]),
    }
    object(fields)
}

fn of_answer(answer: &GeneratedResult) -> Value {
    let text = &answer.text;
    let (kind, key, content) = match answer.family {
        "shell_call" => {
            let outcome = json!({"type": "exit", "exit_code": 0});
            let part = json!({"stdout": text, "stderr": "", "outcome": outcome});
            ("shell_call_output".to_owned(), "output", json!([part]))
        }
        "computer_call" => {
            let shot = json!({"type": "computer_screenshot", "image_url": text});
            ("computer_call_output".to_owned(), "output", shot)
        }
        "tool_search_call" => {
            let tool = json!({"type": "function", "name": "found", "description": text});
            ("tool_search_output".to_owned(), "tools", json!([tool]))
        }
        family if answer.parts => {
            let part = json!({"type": "input_text", "text": text});
            (format!("{family}_output"), "output", json!([part]))
        }
        family => (format!("{family}_output"), "output", json!(text)),
    };
    object(vec![("type", Some(json!(kind))), ("call_id", answer.id.clone()), (key, Some(content))])
}

fn reasoning(thinking: &GeneratedThinking) -> Value {
    object(vec![
        ("type", Some(json!("reasoning"))),
        ("id", thinking.item.as_ref().map(|item| json!(item))),
        ("summary", Some(json!([{"type": "summary_text", "text": thinking.text}]))),
        ("encrypted_content", thinking.seal.as_ref().map(|seal| json!(seal))),
    ])
}
