//! Damage to contents of the list: empty messages, unparsable arguments, empty or oversized
//! results.

#![expect(clippy::ptr_arg, reason = "all scratches have one signature, and some insert")]

use serde_json::{Map, Value, json};

use super::ListAccident;
use super::fields::{object, set, with_key};
use crate::dialect::TestFormat;
use crate::random::Random;

pub(super) const SCRATCHES: &[ListAccident] = &[
    hollow_content,
    lose_text,
    odd_call_list,
    truncate_arguments,
    wrong_arguments,
    lose_arguments,
    hollow_answer,
    odd_answer,
    image_in_answer,
    failed_answer,
];

const ARGUMENTS: [&str; 3] = ["arguments", "input", "args"];

fn hollow_content(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let content = [None, Some(Value::Null), Some(json!("")), Some(json!([])), Some(json!("  "))];
    let message = object(random, list, &|fields| {
        let step = fields.get("type").and_then(Value::as_str);
        let speaks = matches!(step, Some("user_input" | "model_output"));
        (fields.contains_key("role") || speaks)
            && ["content", "parts"].iter().any(|key| fields.contains_key(*key))
    });
    let Some(message) = message else { return };
    let key = if message.contains_key("parts") { "parts" } else { "content" };
    set(message, key, random.pick(&content).clone());
}

/// An empty list of calls, or a call without a type.
fn odd_call_list(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format != TestFormat::Chat {
        return;
    }
    let is_call = |fields: &Map<String, Value>| {
        ["function", "custom"].iter().any(|key| fields.contains_key(*key))
    };
    if random.chance(50) {
        let kind = random.pick(&[None, Some(json!(null)), Some(json!("tool"))]).clone();
        if let Some(call) = object(random, list, &is_call) {
            set(call, "type", kind);
        }
    } else if let Some(message) = object(random, list, &|fields| fields.contains_key("role")) {
        set(message, "tool_calls", Some(json!([])));
    }
}

fn truncate_arguments(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let Some((call, key)) = with_key(random, list, &ARGUMENTS) else { return };
    if let Some(Value::String(text)) = call.get(key) {
        let keep = random.below(text.chars().count());
        let cut: String = text.chars().take(keep).collect();
        set(call, key, Some(json!(cut)));
    }
}

fn wrong_arguments(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let Some((call, key)) = with_key(random, list, &ARGUMENTS) else { return };
    let wrong = [
        json!("[1,2]"),
        json!("not json"),
        json!(""),
        json!(null),
        json!(4),
        json!([1]),
        json!({"a": 1}),
    ];
    set(call, key, Some(random.pick(&wrong).clone()));
}

fn lose_arguments(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    if let Some((call, key)) = with_key(random, list, &ARGUMENTS) {
        set(call, key, None);
    }
}

/// A random tool result, as written in the format.
fn answer<'a>(
    random: &mut Random,
    list: &'a mut [Value],
) -> Option<(&'a mut Map<String, Value>, &'static str)> {
    let is_answer = |fields: &Map<String, Value>| {
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or("");
        let tool = fields.get("role") == Some(&json!("tool"));
        let known =
            ["tool_use_id", "toolUseId", "response"].iter().any(|key| fields.contains_key(*key));
        let output = kind.ends_with("_call_output") || kind == "function_result";
        tool || output || (known && !fields.contains_key("input"))
    };
    let found = object(random, list, &is_answer)?;
    let keys = ["output", "response", "result", "content"];
    let key = keys.into_iter().find(|key| found.contains_key(*key))?;
    Some((found, key))
}

fn hollow_answer(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let contents = [None, Some(Value::Null), Some(json!("")), Some(json!([])), Some(json!({}))];
    let content = random.pick(&contents).clone();
    if let Some((answer, key)) = answer(random, list) {
        set(answer, key, content);
    }
}

/// The result as the tool returned it, not yet written as text.
fn odd_answer(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    let Some((answer, key)) = answer(random, list) else { return };
    let old = answer.get(key).cloned().unwrap_or_default();
    let odd = match random.below(6) {
        1 if format == TestFormat::Gemini => json!([old]),
        5 => json!(["plain words", old, null]),
        0 | 1 => json!({"result": old, "count": 2}),
        2 => json!(21.5),
        3 => json!(true),
        _ => json!("plain words"),
    };
    set(answer, key, Some(odd));
}

fn lose_text(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let is_text =
        |fields: &Map<String, Value>| fields.contains_key("text") && fields.contains_key("type");
    if let Some(part) = object(random, list, &is_text) {
        set(part, "text", None);
    }
}

fn image_in_answer(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    let Some((answer, key)) = answer(random, list) else { return };
    let image = match format {
        TestFormat::Chat => {
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}})
        }
        TestFormat::Responses => {
            json!({"type": "input_image", "image_url": "data:image/png;base64,AA=="})
        }
        TestFormat::Anthropic => {
            json!({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}})
        }
        TestFormat::Interactions => {
            json!({"type": "image", "uri": "https://a/b.png", "mime_type": "image/png"})
        }
        TestFormat::Gemini => return,
        TestFormat::Bedrock => json!({"image": {"format": "png", "source": {"bytes": "AA=="}}}),
    };
    let mut parts = match answer.remove(key) {
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    parts.insert(random.below(parts.len() + 1), image);
    answer.insert(key.to_owned(), Value::Array(parts));
}

fn failed_answer(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let Some((answer, key)) = answer(random, list) else { return };
    set(answer, "status", Some(json!("error")));
    if key == "content" && random.chance(50) {
        set(answer, key, Some(json!([])));
    }
}
