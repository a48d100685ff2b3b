//! Message lists of the AI SDK, and what happens to them in applications.

use foxwedge_core::Format;
use foxwedge_formats::{
    AiSdkList,
    convert::{ConversionOptions, message_list as convert},
};
use serde_json::{Value, json};

use super::sound_history;
use crate::Random;

/// A valid list of this kind, made from a generated history.
///
/// # Panics
///
/// If the history cannot be converted, which is what the caller tests.
pub fn message_list(random: &mut Random, kind: AiSdkList) -> Vec<Value> {
    let size = 4 + random.below(12);
    let history = sound_history(random, "anthropic", size).to_string();
    let options = ConversionOptions::default();
    let converted = convert(&history, Format::Anthropic, kind, &options).expect("a history");
    serde_json::from_str(&converted.body).expect("a list")
}

/// Damages a list that is not empty: a message is cut off, lost, repeated or moved, or a call loses
/// its result.
pub fn damage_list(random: &mut Random, list: &mut Vec<Value>) {
    let at = random.below(list.len());
    match random.below(8) {
        0 => list.truncate(at + 1),
        1 => drop(list.remove(at)),
        2 => {
            let copy = list[at].clone();
            list.insert(at, copy);
        }
        3 if at + 1 < list.len() => list.swap(at, at + 1),
        4 => {
            let moved = list.remove(at);
            let to = random.below(list.len() + 1);
            list.insert(to, moved);
        }
        _ => {
            let message = &mut list[at];
            let is_ui = message["parts"].is_array();
            let parts = message[if is_ui { "parts" } else { "content" }].as_array_mut();
            let Some(parts) = parts else { return };
            let at = parts.iter().position(|part| part["toolCallId"].is_string());
            match at {
                Some(at) if is_ui => open_tool_part(random, &mut parts[at]),
                Some(at) => damage_part(random, parts, at),
                None => {}
            }
        }
    }
}

/// Writes the tool parts of a `UIMessage` list as version 4 does.
pub fn spell_as_version_4(list: &mut [Value]) {
    for message in list {
        for part in message["parts"].as_array_mut().into_iter().flatten() {
            let kind = part["type"].as_str().unwrap_or_default();
            let Some(name) = kind.strip_prefix("tool-") else { continue };
            let result = ["output", "errorText"].into_iter().find(|key| part.get(*key).is_some());
            let state = match (result, part["state"].as_str()) {
                (Some(_), _) => "result",
                (None, Some("input-streaming")) => "partial-call",
                (None, _) => "call",
            };
            let mut invocation = json!({"state": state, "toolCallId": part["toolCallId"],
                "toolName": name, "args": part["input"]});
            if let Some(result) = result {
                invocation["result"] = part[result].clone();
            }
            *part = json!({"type": "tool-invocation", "toolInvocation": invocation});
        }
    }
}

/// Takes the result from a tool part of a `UIMessage`.
fn open_tool_part(random: &mut Random, part: &mut Value) {
    let table = [
        ("input-streaming", Value::Null),
        ("input-available", Value::Null),
        ("approval-requested", json!({"id": "p"})),
        ("approval-responded", json!({"id": "p", "approved": true})),
        ("approval-responded", json!({"id": "p", "approved": false})),
    ];
    let (state, approval) = random.pick(&table).clone();
    let Some(fields) = part.as_object_mut() else { return };
    fields.retain(|key, _| key != "output" && key != "errorText");
    fields.insert("state".to_owned(), json!(state));
    if !approval.is_null() {
        fields.insert("approval".to_owned(), approval);
    }
}

/// Renames a result of a `ModelMessage`; lets the provider run a call, or requests its approval.
fn damage_part(random: &mut Random, parts: &mut Vec<Value>, at: usize) {
    let id = parts[at]["toolCallId"].clone();
    if parts[at]["type"] == "tool-result" {
        parts[at]["toolCallId"] = json!("another");
    } else if random.chance(30) {
        parts[at]["providerExecuted"] = json!(true);
    } else {
        let request = json!({"type": "tool-approval-request", "approvalId": "p", "toolCallId": id});
        parts.push(request);
    }
}
