//! Files as Copilot CLI writes them: a reply with its requests, then one event for each result.

use serde_json::{Value, json};

use super::WrittenSession;
use crate::random::Random;

/// Writes a history of Chat Completions.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = EventWriter { random, records: Vec::new(), messages: Vec::new() };
    writer.event(
        "session.start",
        json!({"sessionId": "5e55107f-0000-4000-8000-000000000001",
        "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102",
        "context": {"cwd": "/p"}}),
    );
    for message in list {
        writer.between(message);
        match message["role"].as_str() {
            Some("user") => writer.say(&text(&message["content"])),
            Some("assistant") => writer.reply(message),
            Some("tool") => writer.answer(message),
            _ => {}
        }
    }
    WrittenSession { records: writer.records, messages: writer.messages, siblings: false }
}

struct EventWriter<'r> {
    random: &'r mut Random,
    records: Vec<Value>,
    messages: Vec<Value>,
}

impl EventWriter<'_> {
    fn event(&mut self, kind: &str, data: Value) {
        let number = self.records.len();
        let parent = self.records.last().map(|record| record["id"].clone());
        let time = format!("2026-11-15T{:02}:{:02}:00.000Z", number / 60 % 24, number % 60);
        self.records.push(json!({"type": kind, "data": data, "id": format!("e{number}"),
            "timestamp": time, "parentId": parent}));
    }

    fn say(&mut self, text: &str) {
        self.event("user.message", json!({"content": text, "transformedContent": text}));
        self.messages.push(json!({"role": "user", "content": text}));
    }

    fn reply(&mut self, message: &Value) {
        let text = text(&message["content"]);
        let mut requests = Vec::new();
        let mut calls = Vec::new();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (id, own) =
                (call["id"].as_str().unwrap_or(""), [&call["function"], &call["custom"]]);
            let Some(own) = own.into_iter().find(|own| own["name"].is_string()) else { continue };
            let name = &own["name"];
            let raw = own["arguments"].as_str().or(own["input"].as_str()).unwrap_or("{}");
            let arguments = serde_json::from_str(raw).unwrap_or_else(|_| json!(raw));
            let arguments: Value = arguments;
            let sent = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            requests.push(json!({"toolCallId": id, "name": name, "arguments": arguments,
                "type": "function"}));
            calls.push(json!({"id": id, "type": "function",
                "function": {"name": name, "arguments": sent}}));
        }
        let mut data = json!({"messageId": "m", "content": text, "toolRequests": requests});
        if self.random.chance(20) {
            data["reasoningText"] = json!("thought about it.");
        }
        self.event("assistant.message", data);
        let mut sent = json!({"role": "assistant", "content": text});
        if text.is_empty() {
            sent["content"] = Value::Null;
        }
        for call in &calls {
            let start = json!({"toolCallId": call["id"], "toolName": call["function"]["name"]});
            self.event("tool.execution_start", start);
        }
        if !calls.is_empty() {
            sent["tool_calls"] = Value::Array(calls);
        }
        self.messages.push(sent);
    }

    fn answer(&mut self, message: &Value) {
        let id = message["tool_call_id"].as_str().unwrap_or("");
        let text = text(&message["content"]);
        let data = match self.random.chance(80) {
            true => json!({"toolCallId": id, "success": true, "result": {"content": text}}),
            false => json!({"toolCallId": id, "success": false, "error": {"message": text}}),
        };
        self.event("tool.execution_complete", data);
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }

    /// Adds events between two messages.
    fn between(&mut self, next: &Value) {
        let number = self.records.len();
        if self.random.chance(25) {
            let others = [
                ("session.usage_record", json!({"usage": {"inputTokens": 1}})),
                ("assistant.turn_start", json!({"turnId": "0"})),
                ("tomorrows.event", json!({"n": 1.50})),
                ("session.compaction_complete", json!({"success": false, "error": "no"})),
                ("system.message", json!({"role": "system", "content": "be kind"})),
                (
                    "assistant.message",
                    json!({"content": format!("aside {number}."),
                    "parentToolCallId": "task", "toolRequests":
                    [{"toolCallId": format!("inner_{number}"), "name": "bash"}]}),
                ),
                (
                    "tool.execution_complete",
                    json!({"toolCallId": format!("own_{number}"),
                    "isUserRequested": true, "success": true, "result": {"content": "x"}}),
                ),
            ];
            let (kind, data) = self.random.pick(&others).clone();
            self.event(kind, data);
        }
        if self.random.chance(6) && next["role"] == "user" {
            let summary = format!("summary {number}.");
            self.messages.clear();
            match self.random.chance(70) {
                true => {
                    self.event(
                        "session.compaction_complete",
                        json!({"success": true, "summaryContent": summary}),
                    );
                    self.messages.push(json!({"role": "user", "content": summary}));
                }
                false => self.event("session.context_cleared", json!({"messagesCleared": 1})),
            }
        }
    }
}

/// The text of a content.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join(" ")
        }
        _ => String::new(),
    }
}
