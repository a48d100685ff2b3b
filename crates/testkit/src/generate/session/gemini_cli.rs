//! Files as Gemini CLI writes them: a reply and its results are one record, which is rewritten on
//! each change.

use serde_json::{Value, json};

use super::WrittenSession;
use crate::random::Random;

/// Writes a list of contents; `old` versions write every message once.
pub(super) fn write(random: &mut Random, list: &[Value], old: bool) -> WrittenSession {
    let (records, messages, current) = (Vec::new(), Vec::new(), Vec::new());
    let mut chat = GeminiFileWriter { random, old, records, messages, current };
    chat.records.push(json!({"sessionId": "5e55107f-0000-4000-8000-000000000001",
        "projectHash": "ab12", "startTime": "2026-11-15T00:00:00.000Z", "kind": "main"}));
    let mut at = 0;
    while let Some(content) = list.get(at) {
        chat.between();
        at += 1;
        let parts = content["parts"].as_array().cloned().unwrap_or_default();
        if content["role"] == "model" {
            let parts: Vec<Value> =
                parts.into_iter().filter(|part| part.get("functionResponse").is_none()).collect();
            let next = list.get(at).filter(|next| next["role"] != "model");
            let answers = next.and_then(|next| next["parts"].as_array()).cloned();
            if chat.reply(&parts, answers.unwrap_or_default()) {
                at += 1;
            }
        } else {
            chat.say("user", parts);
        }
    }
    let GeminiFileWriter { records, messages, .. } = chat;
    WrittenSession { records, messages, siblings: false }
}

struct GeminiFileWriter<'r> {
    random: &'r mut Random,
    old: bool,
    records: Vec<Value>,
    messages: Vec<Value>,
    /// The current messages.
    current: Vec<Value>,
}

impl GeminiFileWriter<'_> {
    fn message(&mut self, kind: &str, content: Value) -> Value {
        let number = self.records.len();
        json!({"id": format!("m{number}"), "timestamp": "2026-11-15T00:00:00.000Z", "type": kind,
            "content": content})
    }

    fn add(&mut self, message: Value) {
        self.records.push(message.clone());
        if self.random.chance(60) {
            self.records.push(json!({"$set": {"lastUpdated": "2026-11-15T00:01:00.000Z"}}));
        }
        self.current.push(message);
    }

    fn say(&mut self, kind: &str, parts: Vec<Value>) {
        let content = self.content(&parts);
        let message = self.message(kind, content);
        self.add(message);
        if !parts.is_empty() {
            let role = if kind == "user" { "user" } else { "model" };
            self.messages.push(json!({"role": role, "parts": parts}));
        }
    }

    /// Parts as a string, if that is equivalent.
    fn content(&mut self, parts: &[Value]) -> Value {
        match parts {
            [] => json!(""),
            [only]
                if only["text"].is_string() && only.as_object().is_some_and(|it| it.len() == 1) =>
            {
                match self.random.chance(50) {
                    true => only["text"].clone(),
                    false => json!([only]),
                }
            }
            list => Value::Array(list.to_vec()),
        }
    }

    /// A reply with the results of its calls. Returns whether the results are in it.
    fn reply(&mut self, parts: &[Value], answers: Vec<Value>) -> bool {
        let is_call = |part: &Value| part.get("functionCall").is_some();
        let (calls, texts): (Vec<Value>, Vec<Value>) =
            parts.iter().cloned().partition(|part| is_call(part));
        let answer_of = |call: &Value| {
            let id = &call["functionCall"]["id"];
            let found = answers.iter().find(|part| part["functionResponse"]["id"] == *id);
            found.filter(|_| id.is_string()).cloned()
        };
        let all = calls.iter().all(|call| answer_of(call).is_some());
        if calls.is_empty() || !all || answers.len() != calls.len() || self.random.chance(20) {
            // Calls in the content, results in a user message.
            self.say("gemini", parts.to_vec());
            return false;
        }
        let content = self.content(&texts);
        let mut message = self.message("gemini", content);
        let mut model_parts = texts;
        let mut given = Vec::new();
        let mut tools = Vec::new();
        for call in &calls {
            let body = &call["functionCall"];
            let (id, name) = (&body["id"], &body["name"]);
            let answer = answer_of(call).unwrap_or_default();
            let args = body.get("args").cloned().unwrap_or_else(|| json!({}));
            tools.push(json!({"id": id, "name": name, "args": args, "result": [answer],
                "status": "success"}));
            model_parts.push(json!({"functionCall": {"id": id, "name": name, "args": args}}));
            given.push(answer);
        }
        if self.random.chance(40) && !self.old {
            // Its first version had no results yet.
            self.records.push(message.clone());
        }
        message["toolCalls"] = json!(tools);
        self.add(message);
        self.messages.push(json!({"role": "model", "parts": model_parts}));
        self.messages.push(json!({"role": "user", "parts": given}));
        true
    }

    fn between(&mut self) {
        if self.random.chance(15) {
            let (kind, text) = *self.random.pick(&[
                ("info", "Update available"),
                ("error", "[API Error: overloaded]"),
                ("user", "?"),
            ]);
            let message = self.message(kind, json!(text));
            self.add(message);
        }
        if self.old {
            return;
        }
        if self.random.chance(8) {
            self.records.push(json!({"tomorrow": self.records.len(), "weight": 1.50}));
        }
        if self.random.chance(8) {
            // A message that is rewound.
            let message =
                self.message("user", json!(format!("taken back {}.", self.records.len())));
            let id = message["id"].clone();
            self.records.push(message);
            let reply = self.message("gemini", json!("taken back, too"));
            self.records.push(reply);
            self.records.push(json!({"$rewindTo": id}));
        }
        if self.random.chance(5) {
            self.records.push(json!({"$set": {"messages": self.current}}));
        }
    }
}

/// The records as an older file: one object over many lines; `torn` truncates it.
pub(super) fn joined(random: &mut Random, records: &[Value], torn: bool) -> Vec<u8> {
    let messages: Vec<&Value> = records.iter().filter(|record| record["id"].is_string()).collect();
    let head = "{\n  \"sessionId\": \"5e55107f\",\n  \"projectHash\": \"ab12\",\n  \"messages\": ";
    let mut file = format!("{head}{:#},\n  \"summary\": \"s\"\n}}", json!(messages)).into_bytes();
    if torn {
        file.truncate(head.len() + 1 + random.below(file.len() - head.len()));
    }
    file
}
