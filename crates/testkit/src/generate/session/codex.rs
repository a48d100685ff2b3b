//! Files as Codex writes them: a sequence of items in envelopes.

use serde_json::{Value, json};

use super::WrittenSession;
use crate::random::Random;

/// Writes a list of items.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let numbered = random.chance(40);
    let mut rollout =
        CodexFileWriter { random, numbered, records: Vec::new(), messages: Vec::new() };
    let mode = if numbered { "paginated" } else { "legacy" };
    rollout.add(
        "session_meta",
        json!({"id": "01a1dd00-0000-7000-8000-000000000001",
        "cwd": "/src", "cli_version": "0.166.0", "history_mode": mode}),
    );
    for item in list {
        rollout.between();
        rollout.item(as_stored(item));
    }
    if rollout.random.chance(50) {
        rollout.add("event_msg", json!({"type": "task_complete", "cost": 1.50}));
    }
    let CodexFileWriter { records, messages, .. } = rollout;
    WrittenSession { records, messages, siblings: false }
}

/// An item as Codex stores it: it has a type, and shell calls have normal results.
fn as_stored(item: &Value) -> Value {
    let mut item = item.clone();
    match (item["type"].as_str(), item["role"].as_str()) {
        (None, Some(role)) if role == "user" || role == "assistant" => {
            item["type"] = json!("message");
        }
        (_, Some("system")) => {
            item["type"] = json!("message");
            item["role"] = json!("developer");
        }
        (Some("local_shell_call_output"), _) => item["type"] = json!("function_call_output"),
        _ => {}
    }
    item
}

struct CodexFileWriter<'r> {
    random: &'r mut Random,
    /// Newer files number their records.
    numbered: bool,
    records: Vec<Value>,
    messages: Vec<Value>,
}

impl CodexFileWriter<'_> {
    fn add(&mut self, kind: &str, payload: Value) {
        let minute = self.records.len();
        let time = format!("2026-11-15T{:02}:{:02}:00.000Z", minute / 60 % 24, minute % 60);
        let mut record = json!({"timestamp": time, "type": kind, "payload": payload});
        if self.numbered {
            record["ordinal"] = json!(minute);
        }
        self.records.push(record);
    }

    fn item(&mut self, item: Value) {
        let mut stored = item.clone();
        if self.random.chance(20) {
            stored["internal_chat_message_metadata_passthrough"] = json!({"turn_id": "t"});
        }
        self.add("response_item", stored);
        self.messages.push(item);
    }

    fn between(&mut self) {
        if self.random.chance(25) {
            let number = self.records.len();
            let asides = [
                ("event_msg", json!({"type": "token_count", "rate": 0.0, "n": number})),
                ("turn_context", json!({"model": "mock-model", "cwd": "/src"})),
                ("world_state", json!({"full": true})),
                ("response_item", json!({"type": "ghost_snapshot", "ghost_commit": {"id": "g"}})),
                ("tomorrows_record", json!({"type": "function_call", "call_id": "c", "n": number})),
            ];
            let (kind, payload) = self.random.pick(&asides).clone();
            self.add(kind, payload);
        }
        if self.random.chance(8) {
            self.roll_back();
        }
        if self.random.chance(5) && self.closed() {
            self.compact();
        }
    }

    /// Whether the conversation so far is complete: the last item is a model message.
    fn closed(&self) -> bool {
        self.messages.last().is_some_and(|item| item["role"] == "assistant")
    }

    /// Adds turns and rolls them back.
    fn roll_back(&mut self) {
        if !self.closed() {
            return;
        }
        let turns = 1 + self.random.below(2);
        for turn in 0..turns {
            let number = self.records.len() + turn;
            let says = format!("taken back {number}.");
            let content = json!([{"type": "input_text", "text": says}]);
            self.add(
                "response_item",
                json!({"type": "message", "role": "user", "content": content}),
            );
            self.add(
                "response_item",
                json!({"type": "function_call", "name": "bash",
                "call_id": format!("gone_{number}"), "arguments": "{}"}),
            );
        }
        self.add("event_msg", json!({"type": "thread_rolled_back", "num_turns": turns}));
    }

    /// Adds a compaction that replaces everything before it.
    fn compact(&mut self) {
        let number = self.records.len();
        let text = json!([{"type": "input_text", "text": format!("summary {number}.")}]);
        let mut list = vec![json!({"type": "message", "role": "user", "content": text})];
        let (id, name) = (format!("kept_{number}"), "bash");
        list.push(json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}));
        list.push(json!({"type": "function_call_output", "call_id": id, "output": "kept"}));
        let payload = json!({"message": "summary", "replacement_history": list});
        self.add("compacted", payload);
        self.messages = list;
    }
}
