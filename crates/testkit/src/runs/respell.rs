//! The same event in other notations: the names that agents use, their mistakes, and garbage.

use serde_json::{Map, Value, json};

use crate::Random;

/// Names that other agents use for a field.
const NAMES: [(&str, &[&str]); 22] = [
    ("toolCallId", &["toolUseId", "callId", "tool_call_id", "tool_use_id"]),
    ("toolId", &["tool_id"]),
    ("parentToolCallId", &["parentToolUseId", "parent_tool_use_id", "parentToolId"]),
    ("epoch", &["runEpoch", "run_epoch"]),
    ("at", &["timestamp", "startedAt", "emittedAt", "terminalAt"]),
    ("content", &["result", "output", "text"]),
    ("full", &["text", "content"]),
    ("input", &["args", "arguments"]),
    ("title", &["description"]),
    ("name", &["toolName", "tool_name"]),
    ("requestId", &["approvalId", "questionId", "id"]),
    ("answer", &["answers"]),
    ("tasks", &["todos"]),
    ("tokenUsage", &["usage", "token_usage"]),
    ("finalContent", &["final_content", "text", "result"]),
    ("grace", &["graceMs", "grace_ms"]),
    ("activityId", &["id", "messageId"]),
    ("kind", &["activityType"]),
    ("version", &["snapshotVersion", "snapshot_version"]),
    ("prompt", &["question", "message"]),
    ("choices", &["options", "questions"]),
    ("messageId", &["message_id"]),
];

/// Types that other agents use for an event.
const TYPES: [(&str, &str); 7] = [
    ("run-started", "agent:run-start"),
    ("tools-available", "agent:tools-available"),
    ("text", "agent:message"),
    ("thought", "agent:thought"),
    ("tool-call", "agent:tool-call"),
    ("tool-result", "agent:tool-result"),
    ("run-ended", "agent:complete"),
];

/// Values that other agents use for a status, and some that none uses.
const STATUSES: [&str; 16] = [
    "queued",
    "executing",
    "waiting_approval",
    "success",
    "error",
    "rejected",
    "canceled",
    "aborted",
    "handed_over",
    "timed_out",
    "skipped",
    "approval-requested",
    "output-available",
    "in_progress",
    "flying",
    "",
];

/// Values of unexpected types.
const STRANGE: [&str; 17] = [
    "null",
    "true",
    "7",
    "-1",
    "1.5",
    "\"\"",
    "\"12\"",
    "[]",
    "{}",
    "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]",
    "{\"message\":\"inside\",\"code\":5}",
    "{\"code\":\"overloaded\"}",
    "[[[]],{\"text\":1}]",
    "4294967296",
    "\"two words\"",
    "1e3",
    "[\"x\",{\"name\":\"y\"},3]",
];

/// A line in another notation; sometimes one that is not an event at all.
pub fn respelled(random: &mut Random, line: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    for _ in 0..random.below(3) {
        respell(random, &mut fields);
    }
    let line = Value::Object(fields).to_string();
    match random.below(60) {
        // Truncated.
        0 => line.chars().take(random.below(line.len())).collect(),
        // A lone surrogate instead of a letter.
        1 => line.replacen('l', "\\ud83d", 1),
        2 => line.replacen(',', " ,\n\t", 3),
        // The same key again: the last one counts.
        3 => line.replacen('{', "{\"type\":\"stop\",\"name\":\"first\",", 1),
        4 => (*random.pick(&["", "null", "[]", "{}", "{\"runId\":\"run-a\"}", "\u{feff}{}"]))
            .to_owned(),
        _ => line,
    }
}

fn respell(random: &mut Random, fields: &mut Map<String, Value>) {
    if let Some(Value::Object(error)) = fields.get_mut("error")
        && random.chance(40)
    {
        error.remove("message");
        error.insert("details".to_owned(), json!({"why": "full"}));
    }
    match random.below(8) {
        0 | 1 => rename(random, fields),
        2 | 3 => retype(random, fields),
        4 => {
            if fields.contains_key("status") || random.chance(30) {
                fields.insert("status".to_owned(), (*random.pick(&STATUSES)).into());
            }
        }
        5 => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = random.pick(&keys).clone();
            // Without a run or a type it is not an event, which is tested quickly.
            if !matches!(key.as_str(), "runId" | "type") || random.chance(10) {
                let strange: &str = random.pick::<&str>(&STRANGE);
                let strange = serde_json::from_str(strange).unwrap_or_default();
                fields.insert(key, strange);
            }
        }
        6 => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = random.pick(&keys).clone();
            if !matches!(key.as_str(), "runId" | "type") {
                fields.remove(&key);
            }
        }
        _ => {
            let (name, value) = random
                .pick(&[
                    ("conversationId", json!("conversation-1")),
                    ("requiresApproval", json!(true)),
                    ("isComplete", json!(true)),
                    ("isError", json!(true)),
                    ("phase", json!("initializing")),
                    ("reason", json!("because")),
                    ("terminalReason", json!("error_max_turns")),
                    ("approved", json!(false)),
                    ("odd", json!("found before")),
                ])
                .clone();
            fields.insert(name.to_owned(), value);
        }
    }
}

fn rename(random: &mut Random, fields: &mut Map<String, Value>) {
    let known: Vec<_> = NAMES.iter().filter(|(name, _)| fields.contains_key(*name)).collect();
    if known.is_empty() {
        return;
    }
    let (name, others) = **random.pick(&known);
    if let Some(value) = fields.remove(name) {
        let value = match value {
            // Some agents put the arguments into a string.
            Value::Object(_) if name == "input" && random.chance(50) => value.to_string().into(),
            Value::Number(number) if random.chance(20) => number.to_string().into(),
            value => value,
        };
        fields.insert((*random.pick(others)).to_owned(), value);
    }
}

fn retype(random: &mut Random, fields: &mut Map<String, Value>) {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    let Some((_, other)) = TYPES.iter().find(|(name, _)| *name == kind) else { return };
    fields.insert("type".to_owned(), (*other).into());
    match *other {
        "agent:message" => {
            let full = fields.remove("full");
            fields.insert("isComplete".to_owned(), full.is_some().into());
            let keeps_delta = full.is_none() && random.chance(50);
            let content = full.or_else(|| fields.remove("delta"));
            if let Some(content) = content {
                let name = if keeps_delta { "delta" } else { "content" };
                fields.insert(name.to_owned(), content);
            }
        }
        "agent:thought" => {
            if let Some(content) = fields.remove("full").or_else(|| fields.remove("delta")) {
                let inside = json!({"id": "thought-1", "content": content});
                let content = if random.chance(50) { inside } else { content };
                fields.insert("thought".to_owned(), content);
            }
        }
        "agent:tool-call" => {
            if let Some(id) = fields.remove("toolCallId") {
                fields.remove("toolId");
                fields.insert("id".to_owned(), id);
            }
        }
        _ => {}
    }
}
