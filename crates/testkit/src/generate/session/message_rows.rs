//! Sessions of Crush and goose as text: a row for the session, then one row for each message. Rows are
//! damaged as a database can be: payloads that were cut off, rows that are missing or stand twice.

use serde_json::{Value, json};

use super::{WrittenSession, scribe::blocks};
use crate::random::Random;

const ID: &str = "5e55107f-0000-4000-8000-000000000001";

/// Writes a history of the Anthropic format.
pub(super) fn write(random: &mut Random, agent: &str, list: &[Value]) -> WrittenSession {
    let mut writer = RowWriter { agent, random, records: Vec::new(), messages: Vec::new() };
    let columns = json!({"title": "A story", "working_dir": "/p", "name": "A story"});
    writer.records.push(json!({"store": agent, "table": "sessions", "id": ID, "columns": columns}));
    for message in list {
        if writer.random.chance(10) {
            writer.unsent();
        }
        let is_result = |block: &Value| block["type"] == "tool_result";
        let own = blocks(message);
        match message["role"].as_str() {
            Some("assistant") => {
                let kinds = ["text", "tool_use"];
                writer.message("assistant", &known(&own, &kinds));
            }
            Some("user") => {
                // Results have rows of their own.
                for group in own.chunk_by(|one, two| is_result(one) == is_result(two)) {
                    let role = if group.iter().any(is_result) { "tool" } else { "user" };
                    writer.message(role, &known(group, &["text", "tool_result"]));
                }
            }
            _ => {}
        }
    }
    WrittenSession { records: writer.records, messages: writer.messages, siblings: false }
}

/// Damages rows: their payloads, their number and their order.
pub(super) fn damage(random: &mut Random, records: &mut Vec<Value>) {
    for _ in 0..=random.below(3) {
        if records.len() < 3 {
            return;
        }
        let at = 1 + random.below(records.len() - 1);
        match random.below(4) {
            0 => {
                let text = records[at]["data"].to_string();
                let end =
                    (0..=random.below(text.len())).rev().find(|end| text.is_char_boundary(*end));
                records[at]["data"] = json!({"$text": &text[..end.unwrap_or(0)]});
            }
            1 => drop(records.remove(at)),
            2 => {
                let mut copy = records[at].clone();
                copy["id"] = json!(format!("copy-{}", records.len()));
                records.insert(at + 1, copy);
            }
            _ => {
                let other = 1 + random.below(records.len() - 1);
                records.swap(at, other);
            }
        }
    }
}

fn known(list: &[Value], kinds: &[&str]) -> Vec<Value> {
    list.iter().filter(|block| kinds.iter().any(|kind| block["type"] == *kind)).cloned().collect()
}

struct RowWriter<'r> {
    agent: &'r str,
    random: &'r mut Random,
    records: Vec<Value>,
    messages: Vec<Value>,
}

impl RowWriter<'_> {
    fn is_crush(&self) -> bool {
        self.agent == "crush"
    }

    fn row(&mut self, role: &str, parts: Vec<Value>) {
        let number = self.records.len();
        let time = 1_790_000_000 + number / 3;
        let columns = match self.is_crush() {
            true => json!({"session_id": ID, "role": role, "created_at": time}),
            false => {
                let role = if role == "tool" { "user" } else { role };
                json!({"session_id": ID, "role": role, "created_timestamp": time,
                    "metadata_json": "{\"agentVisible\":true}"})
            }
        };
        let id = if self.is_crush() { format!("row-{number}") } else { number.to_string() };
        self.records.push(json!({"store": self.agent, "table": "messages", "id": id,
            "columns": columns, "data": parts}));
    }

    fn message(&mut self, role: &str, own: &[Value]) {
        let mut parts: Vec<Value> = own.iter().map(|block| self.part(block)).collect();
        let sent: Vec<Value> = own.iter().map(|block| self.as_sent(block)).collect();
        let is_empty = |block: &Value| block["type"] == "text" && block["text"] == "";
        if own.iter().all(is_empty) {
            return;
        }
        if self.is_crush() && self.random.chance(70) {
            parts.push(json!({"type": "finish", "data": {"reason": "stop", "time": 0}}));
        }
        self.row(role, parts);
        let role = if role == "assistant" { "assistant" } else { "user" };
        self.messages.push(json!({"role": role, "content": sent}));
    }

    fn part(&self, block: &Value) -> Value {
        let crush = self.is_crush();
        match (block["type"].as_str(), crush) {
            (Some("text"), true) => json!({"type": "text", "data": {"text": block["text"]}}),
            (Some("tool_use"), true) => json!({"type": "tool_call", "data": {"id": id(block, "id"),
                "name": id(block, "name"), "input": input(block).to_string(), "finished": true}}),
            (Some("tool_use"), false) => json!({"type": "toolRequest", "id": id(block, "id"),
                "toolCall": {"status": "success", "value": {"name": id(block, "name"),
                "arguments": input(block)}}}),
            (Some("tool_result"), true) => json!({"type": "tool_result", "data": {
                "tool_call_id": id(block, "tool_use_id"), "name": "bash", "content": self.words(block),
                "is_error": block["is_error"] == true}}),
            (Some("tool_result"), false) => json!({"type": "toolResponse",
                "id": id(block, "tool_use_id"), "toolResult": {"status": "success", "value": {
                "content": self.words(block), "isError": block["is_error"] == true}}}),
            _ => block.clone(),
        }
    }

    /// The content of a result: a text, or a list with one.
    fn words(&self, block: &Value) -> Value {
        let texts: Vec<&str> = match &block["content"] {
            Value::Array(list) => list.iter().filter_map(|one| one["text"].as_str()).collect(),
            text => text.as_str().into_iter().collect(),
        };
        let text = texts.join("\n");
        if self.is_crush() { json!(text) } else { json!([{"type": "text", "text": text}]) }
    }

    /// A block as the agent sends it.
    fn as_sent(&self, block: &Value) -> Value {
        match block["type"].as_str() {
            Some("tool_use") => json!({"type": "tool_use", "id": id(block, "id"),
                "name": id(block, "name"), "input": input(block)}),
            Some("tool_result") => {
                let mut sent = json!({"type": "tool_result", "tool_use_id": id(block, "tool_use_id"),
                    "content": self.words(block)});
                if block["is_error"] == true {
                    sent["is_error"] = json!(true);
                }
                sent
            }
            _ => json!({"type": "text", "text": block["text"]}),
        }
    }

    /// A row that the agent does not send.
    fn unsent(&mut self) {
        self.row("system", vec![self.part(&json!({"type": "text", "text": "not sent"}))]);
    }
}

fn id(block: &Value, key: &str) -> Value {
    json!(block[key].as_str().unwrap_or(""))
}

fn input(block: &Value) -> Value {
    if block["input"].is_object() { block["input"].clone() } else { json!({}) }
}
