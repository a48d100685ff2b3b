//! Writes a draft as the message list of a format.
//!
//! Only the layout is decided here. An invalid draft stays invalid in the same way.

use serde_json::{Map, Value, json};

use super::draft::{
    GeneratedCall, GeneratedDraft, GeneratedPart, GeneratedResult, GeneratedTurn, TurnSpeaker,
};
use super::{items, steps};
use crate::dialect::TestFormat;

/// The bare list of messages, contents or items.
pub(crate) fn list(format: TestFormat, draft: &GeneratedDraft) -> Vec<Value> {
    match format {
        TestFormat::Chat => draft.turns.iter().flat_map(|turn| chat(turn, &draft.hollow)).collect(),
        TestFormat::Responses => items::of_turns(&draft.turns),
        TestFormat::Interactions => steps::of_turns(&draft.turns),
        TestFormat::Anthropic => draft.turns.iter().map(anthropic).collect(),
        TestFormat::Gemini => draft.turns.iter().map(gemini).collect(),
        TestFormat::Bedrock => draft.turns.iter().map(bedrock).collect(),
    }
}

/// An object of the fields that have a value.
pub(super) fn object(fields: Vec<(&str, Option<Value>)>) -> Value {
    let mut map = Map::new();
    for (key, value) in fields {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    }
    Value::Object(map)
}

/// The role name of a speaker, in formats that have `assistant`.
pub(super) fn role(speaker: TurnSpeaker) -> &'static str {
    match speaker {
        TurnSpeaker::User => "user",
        TurnSpeaker::Assistant => "assistant",
        TurnSpeaker::System => "system",
    }
}

fn chat(turn: &GeneratedTurn, hollow: &Option<Value>) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut reasoning = None;
    for part in &turn.parts {
        match part {
            GeneratedPart::Text(text) => texts.push(text.as_str()),
            GeneratedPart::Call(call) => calls.push(chat_call(call)),
            GeneratedPart::Thinking(thinking) => reasoning = Some(json!(thinking.text)),
            GeneratedPart::ServerCall(_) | GeneratedPart::ServerAnswer(_) => {}
            GeneratedPart::Answer(answer) => {
                if !texts.is_empty() {
                    let content = chat_content(&std::mem::take(&mut texts), turn.plain);
                    messages.push(json!({"role": role(turn.speaker), "content": content}));
                }
                let names_tool = answer.id.is_none() && !answer.name.is_empty();
                messages.push(object(vec![
                    ("role", Some(json!("tool"))),
                    ("tool_call_id", answer.id.clone()),
                    ("name", names_tool.then(|| json!(answer.name))),
                    ("content", Some(chat_content(&[answer.text.as_str()], !answer.parts))),
                ]));
            }
        }
    }
    if texts.is_empty() && calls.is_empty() && reasoning.is_none() && !messages.is_empty() {
        return messages;
    }
    let content = match texts.as_slice() {
        [] => hollow.clone(),
        texts => Some(chat_content(texts, turn.plain)),
    };
    messages.push(object(vec![
        ("role", Some(json!(role(turn.speaker)))),
        ("content", content),
        ("reasoning_content", reasoning),
        ("tool_calls", (!calls.is_empty()).then_some(Value::Array(calls))),
    ]));
    messages
}

fn chat_content(texts: &[&str], plain: bool) -> Value {
    match texts {
        [text] if plain => json!(text),
        texts => texts.iter().map(|text| json!({"type": "text", "text": text})).collect(),
    }
}

fn chat_call(call: &GeneratedCall) -> Value {
    let (kind, body) = match call.family {
        "custom_tool_call" => {
            ("custom", json!({"name": call.name, "input": format!("raw {}", call.arguments)}))
        }
        _ => ("function", json!({"name": call.name, "arguments": call.arguments.to_string()})),
    };
    object(vec![("id", call.id.clone()), ("type", Some(json!(kind))), (kind, Some(body))])
}

fn anthropic(turn: &GeneratedTurn) -> Value {
    if let ([GeneratedPart::Text(text)], true) = (turn.parts.as_slice(), turn.plain) {
        return json!({"role": role(turn.speaker), "content": text});
    }
    let blocks: Vec<Value> = turn.parts.iter().map(anthropic_block).collect();
    json!({"role": role(turn.speaker), "content": blocks})
}

fn anthropic_block(part: &GeneratedPart) -> Value {
    let kind = |kind: &str| ("type", Some(json!(kind)));
    match part {
        GeneratedPart::Text(text) => json!({"type": "text", "text": text}),
        GeneratedPart::Call(call) => object(vec![
            kind("tool_use"),
            ("id", call.id.clone()),
            ("name", Some(json!(call.name))),
            ("input", Some(call.arguments.clone())),
        ]),
        GeneratedPart::Answer(answer) => object(vec![
            kind("tool_result"),
            ("tool_use_id", answer.id.clone()),
            ("content", Some(chat_content(&[answer.text.as_str()], !answer.parts))),
        ]),
        GeneratedPart::Thinking(thinking) => object(vec![
            kind("thinking"),
            ("thinking", Some(json!(thinking.text))),
            ("signature", thinking.seal.as_ref().map(|seal| json!(seal))),
        ]),
        GeneratedPart::ServerCall(id) => json!({
            "type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "fox"}
        }),
        GeneratedPart::ServerAnswer(id) => {
            json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []})
        }
    }
}

fn gemini(turn: &GeneratedTurn) -> Value {
    let role = match turn.speaker {
        TurnSpeaker::User => "user",
        TurnSpeaker::Assistant => "model",
        TurnSpeaker::System => "system",
    };
    let parts: Vec<Value> = turn.parts.iter().map(gemini_part).collect();
    json!({"role": role, "parts": parts})
}

fn gemini_part(part: &GeneratedPart) -> Value {
    match part {
        GeneratedPart::Text(text) => json!({"text": text}),
        GeneratedPart::Call(call) => {
            let body = object(vec![
                ("id", call.id.clone()),
                ("name", Some(json!(call.name))),
                ("args", Some(call.arguments.clone())),
            ]);
            let signature = call.signature.as_ref().map(|signature| json!(signature));
            object(vec![("functionCall", Some(body)), ("thoughtSignature", signature)])
        }
        GeneratedPart::Answer(answer) => {
            let GeneratedResult { id, name, text, .. } = answer;
            let response = Some(json!({"output": text}));
            let fields =
                vec![("id", id.clone()), ("name", Some(json!(name))), ("response", response)];
            json!({"functionResponse": object(fields)})
        }
        GeneratedPart::Thinking(thinking) => json!({"text": thinking.text, "thought": true}),
        GeneratedPart::ServerCall(_) => {
            json!({"executableCode": {"language": "PYTHON", "code": "1 + 1"}})
        }
        GeneratedPart::ServerAnswer(_) => {
            json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}})
        }
    }
}

fn bedrock(turn: &GeneratedTurn) -> Value {
    let blocks: Vec<Value> = turn.parts.iter().filter_map(bedrock_block).collect();
    json!({"role": role(turn.speaker), "content": blocks})
}

fn bedrock_block(part: &GeneratedPart) -> Option<Value> {
    Some(match part {
        GeneratedPart::Text(text) => json!({"text": text}),
        GeneratedPart::Call(call) => json!({"toolUse": object(vec![
            ("toolUseId", call.id.clone()),
            ("name", Some(json!(call.name))),
            ("input", Some(call.arguments.clone())),
        ])}),
        GeneratedPart::Answer(answer) => json!({"toolResult": object(vec![
            ("toolUseId", answer.id.clone()),
            ("content", Some(json!([{"text": answer.text}]))),
        ])}),
        GeneratedPart::Thinking(thinking) => {
            json!({"reasoningContent": {"reasoningText": object(vec![
                ("text", Some(json!(thinking.text))),
                ("signature", thinking.seal.as_ref().map(|seal| json!(seal))),
            ])}})
        }
        GeneratedPart::ServerCall(id) => json!({"toolUse": {
            "toolUseId": id, "name": "web_search", "input": {}, "type": "server_tool_use"
        }}),
        GeneratedPart::ServerAnswer(id) => json!({"toolResult": {
            "toolUseId": id, "content": [{"text": "found"}], "type": "web_search"
        }}),
    })
}
