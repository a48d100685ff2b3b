//! Sessions of opencode as text: a row for the session, then one row for each message, which holds the
//! rows of its parts. A tool part is a call and its result in one.

use serde_json::{Value, json};

use super::{WrittenSession, scribe::blocks};
use crate::random::Random;

const ID: &str = "ses_5e55107f0001";

/// Writes a history of the Anthropic format. Results without a call cannot be written.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = RowWriter { random, records: Vec::new(), messages: Vec::new() };
    let columns = json!({"directory": "/p", "title": "A story", "version": "1.18.33"});
    let session = json!({"store": "opencode", "table": "session", "id": ID, "columns": columns});
    writer.records.push(session);
    for (at, message) in list.iter().enumerate() {
        if writer.random.chance(4) {
            writer.compaction();
        }
        let own = blocks(message);
        let is_reply = message["role"] == "assistant";
        let texts = own.iter().filter(|block| block["text"].is_string());
        match message["role"].as_str() {
            Some("assistant") => {
                let later = list[at + 1..].iter().take_while(|next| next["role"] != "assistant");
                let answers: Vec<Value> = later.flat_map(blocks).collect();
                writer.reply(&own, answers);
            }
            Some("user") if !is_reply => writer.prompt(&texts.cloned().collect::<Vec<_>>()),
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
        match random.below(6) {
            0 => cut_off(random, &mut records[at]["data"]),
            1 => drop(records.remove(at)),
            2 => {
                let other = 1 + random.below(records.len() - 1);
                records.swap(at, other);
            }
            3 => {
                // As older versions wrote it.
                let key = *random.pick(&["agent", "model", "parentID", "tokens", "path", "role"]);
                records[at]["data"].as_object_mut().map(|fields| fields.remove(key));
            }
            _ => {
                let parts = records[at]["rows"].as_array_mut();
                if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
                    let part = random.below(parts.len());
                    damage_part(random, &mut parts[part]);
                }
            }
        }
    }
}

fn damage_part(random: &mut Random, part: &mut Value) {
    match random.below(3) {
        0 => cut_off(random, &mut part["data"]),
        1 => {
            let key = *random.pick(&["time", "output", "title", "metadata", "input"]);
            part["data"]["state"].as_object_mut().map(|fields| fields.remove(key));
        }
        _ if part["data"]["state"]["input"].is_object() => {
            let input = part["data"]["state"]["input"].to_string();
            part["data"]["state"]["input"] = json!(input);
        }
        _ => {}
    }
}

/// Ends a payload early, as a write that did not reach the disk.
fn cut_off(random: &mut Random, data: &mut Value) {
    let text = data.to_string();
    let end = (0..=random.below(text.len())).rev().find(|end| text.is_char_boundary(*end));
    *data = json!({"$text": &text[..end.unwrap_or(0)]});
}

struct RowWriter<'r> {
    random: &'r mut Random,
    records: Vec<Value>,
    messages: Vec<Value>,
}

impl RowWriter<'_> {
    /// Writes a message with its parts. Returns its id.
    fn row(&mut self, mut data: Value, parts: Vec<Value>) -> String {
        let number = self.records.len();
        let (id, time) = (format!("msg_{number:04}"), 1_790_000_000_000_u64 + number as u64);
        data["time"] = json!({"created": time});
        let times = json!({"session_id": ID, "time_created": time, "time_updated": time});
        let parts = parts.into_iter().enumerate().map(|(at, part)| {
            let mut columns = times.clone();
            columns["message_id"] = json!(id);
            json!({"table": "part", "id": format!("prt_{number:04}_{at:04}"), "columns": columns,
                "data": part})
        });
        let rows: Vec<Value> = parts.collect();
        self.records.push(json!({"store": "opencode", "table": "message", "id": id,
            "columns": times, "data": data, "rows": rows}));
        id
    }

    fn prompt(&mut self, texts: &[Value]) {
        if texts.iter().all(|block| block["text"] == "") {
            return;
        }
        let parts = texts.iter().map(|block| json!({"type": "text", "text": block["text"]}));
        self.row(user(), parts.collect());
        let content: Vec<Value> =
            texts.iter().map(|block| json!({"type": "text", "text": block["text"]})).collect();
        self.messages.push(json!({"role": "user", "content": content}));
    }

    fn reply(&mut self, own: &[Value], mut answers: Vec<Value>) {
        let (mut parts, mut sent, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for block in own {
            match block["type"].as_str() {
                Some("text") if block["text"].is_string() => {
                    parts.push(json!({"type": "text", "text": block["text"]}));
                    sent.push(json!({"type": "text", "text": block["text"]}));
                }
                Some("tool_use") => {
                    let (id, name) = (text(block, "id"), text(block, "name"));
                    let is_own = |answer: &Value| {
                        answer["type"] == "tool_result" && text(answer, "tool_use_id") == id
                    };
                    let answer = answers.iter().position(is_own).map(|at| answers.remove(at));
                    let input =
                        if block["input"].is_object() { &block["input"] } else { &json!({}) };
                    let state = self.state(input, answer.as_ref());
                    parts.push(json!({"type": "tool", "callID": id, "tool": name, "state": state}));
                    sent.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                    if let Some(answer) = answer {
                        let mut result = json!({"type": "tool_result", "tool_use_id": id,
                            "content": words(&answer)});
                        if answer["is_error"] == true {
                            result["is_error"] = json!(true);
                        }
                        results.push(result);
                    }
                }
                _ => {}
            }
        }
        if sent.is_empty() {
            return;
        }
        if self.random.chance(70) {
            parts.insert(0, json!({"type": "step-start"}));
            let tokens = json!({"input": 1, "output": 1, "reasoning": 0,
                "cache": {"read": 0, "write": 0}});
            parts.push(
                json!({"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens}),
            );
        }
        self.row(assistant(), parts);
        self.messages.push(json!({"role": "assistant", "content": sent}));
        if !results.is_empty() {
            self.messages.push(json!({"role": "user", "content": results}));
        }
    }

    fn state(&mut self, input: &Value, answer: Option<&Value>) -> Value {
        let time = json!({"start": 1, "end": 2});
        match answer {
            Some(answer) if answer["is_error"] == true => {
                json!({"status": "error", "input": input, "error": words(answer), "time": time})
            }
            Some(answer) => json!({"status": "completed", "input": input, "output": words(answer),
                "title": "t", "metadata": {}, "time": time}),
            None if self.random.chance(50) => {
                json!({"status": "pending", "input": input, "raw": ""})
            }
            None => json!({"status": "running", "input": input, "time": {"start": 1}}),
        }
    }

    /// A compaction: what the agent asks for, and the summary. Everything before it is hidden.
    fn compaction(&mut self) {
        let id = self.row(user(), vec![json!({"type": "compaction", "auto": true})]);
        let mut summary = assistant();
        summary["summary"] = json!(true);
        summary["finish"] = json!("stop");
        summary["parentID"] = json!(id);
        self.row(summary, vec![json!({"type": "text", "text": "a summary"})]);
        let say = |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
        self.messages = vec![say("user", "What did we do so far?"), say("assistant", "a summary")];
    }
}

fn user() -> Value {
    json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}})
}

fn assistant() -> Value {
    let tokens = json!({"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    json!({"role": "assistant", "parentID": "msg_0001", "modelID": "m", "providerID": "p",
        "mode": "build", "agent": "build", "path": {"cwd": "/p", "root": "/p"}, "cost": 0,
        "tokens": tokens})
}

fn text(block: &Value, key: &str) -> String {
    block[key].as_str().unwrap_or_default().to_owned()
}

/// The content of a result as one text.
fn words(block: &Value) -> String {
    let texts: Vec<&str> = match &block["content"] {
        Value::Array(list) => list.iter().filter_map(|one| one["text"].as_str()).collect(),
        text => text.as_str().into_iter().collect(),
    };
    texts.join("\n")
}
