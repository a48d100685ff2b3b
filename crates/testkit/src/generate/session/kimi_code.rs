//! Files as Kimi Code writes them: messages of the user, and one event for each piece of a reply.

use serde_json::{Value, json};

use super::{WrittenSession, copilot_cli::text};
use crate::random::Random;

/// Writes a history of Chat Completions.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = WireWriter { random, records: Vec::new(), messages: Vec::new() };
    writer.records.push(json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1}));
    for message in list {
        writer.between(message);
        match message["role"].as_str() {
            Some("user") => {
                let text = text(&message["content"]);
                writer.say(&text, "user");
                writer.messages.push(json!({"role": "user", "content": text}));
            }
            Some("assistant") => writer.reply(message),
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                let text = text(&message["content"]);
                writer.event(json!({"type": "tool.result", "parentUuid": "c", "toolCallId": id,
                    "result": {"output": text}}));
                let sent = json!({"role": "tool", "tool_call_id": id, "content": text});
                writer.messages.push(sent);
            }
            _ => {}
        }
    }
    WrittenSession { records: writer.records, messages: writer.messages, siblings: false }
}

struct WireWriter<'r> {
    random: &'r mut Random,
    records: Vec<Value>,
    messages: Vec<Value>,
}

impl WireWriter<'_> {
    fn record(&mut self, mut record: Value) {
        record["agentId"] = json!("main");
        record["time"] = json!(self.records.len());
        self.records.push(record);
    }

    fn event(&mut self, event: Value) {
        self.record(json!({"type": "context.append_loop_event", "event": event}));
    }

    fn say(&mut self, text: &str, origin: &str) {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}],
            "toolCalls": [], "origin": {"kind": origin}});
        self.record(json!({"type": "context.append_message", "message": message}));
    }

    fn reply(&mut self, message: &Value) {
        self.event(json!({"type": "step.begin", "uuid": "s", "step": 1}));
        let text = text(&message["content"]);
        if !text.is_empty() {
            let part = json!({"type": "text", "text": text});
            self.event(json!({"type": "content.part", "uuid": "p", "part": part}));
            self.messages.push(json!({"role": "assistant", "content": text}));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let own = [&call["function"], &call["custom"]];
            let Some(own) = own.into_iter().find(|own| own["name"].is_string()) else { continue };
            let (id, name) = (call["id"].as_str().unwrap_or(""), &own["name"]);
            let raw = own["arguments"].as_str().or(own["input"].as_str()).unwrap_or("{}");
            let args: Value = serde_json::from_str(raw).unwrap_or_else(|_| json!(raw));
            let sent = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
            self.event(json!({"type": "tool.call", "uuid": "c", "toolCallId": id, "name": name,
                "args": args}));
            self.messages.push(json!({"role": "assistant", "content": null, "tool_calls":
                [{"id": id, "type": "function", "function": {"name": name, "arguments": sent}}]}));
        }
    }

    /// Adds records between two messages.
    fn between(&mut self, next: &Value) {
        if self.random.chance(25) {
            let others = [
                json!({"type": "usage.record", "usage": {"output": 1}}),
                json!({"type": "llm.request", "kind": "loop", "n": 1.50}),
                json!({"type": "tomorrows.record", "message": {"role": "user", "content": "no"}}),
            ];
            let other = self.random.pick(&others).clone();
            self.record(other);
        }
        if next["role"] != "user" {
            return;
        }
        if self.random.chance(10) {
            self.say("<system-reminder>today</system-reminder>", "injection");
        }
        if self.random.chance(6) {
            let summary = format!("summary {}.", self.records.len());
            match self.random.below(3) {
                0 => {
                    self.record(json!({"type": "context.clear"}));
                    self.messages.clear();
                }
                1 => {
                    self.record(json!({"type": "context.apply_compaction", "summary": summary,
                        "keptUserMessageCount": 1}));
                    self.messages.retain(|message| message["role"] == "user");
                    self.messages.push(json!({"role": "user", "content": summary}));
                }
                _ => {
                    self.record(json!({"type": "context.undo", "count": 1}));
                    let last = self.messages.iter().rposition(|message| message["role"] == "user");
                    self.messages.truncate(last.unwrap_or(self.messages.len()));
                }
            }
        }
    }
}
