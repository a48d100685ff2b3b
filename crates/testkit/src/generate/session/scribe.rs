//! Writes records that are linked by their parents, and keeps the conversation in them.

use serde_json::{Map, Value, json};

use crate::random::Random;

/// Writes a file record by record.
pub(super) struct LinkedFileWriter<'r> {
    pub(super) random: &'r mut Random,
    pub(super) records: Vec<Value>,
    /// The parent of the next record.
    pub(super) tail: Option<String>,
    /// The turns since the last root.
    pub(super) turns: Vec<WrittenTurn>,
    /// Records on the path to the tail, since the last root.
    pub(super) trail: Vec<String>,
    count: usize,
}

/// The records and the messages of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenTurn {
    pub(super) ids: Vec<String>,
    pub(super) messages: Vec<Value>,
    /// Whether a compaction carried it over.
    pub(super) carried: bool,
}

impl<'r> LinkedFileWriter<'r> {
    pub(super) fn new(random: &'r mut Random) -> Self {
        let (records, turns, trail) = (Vec::new(), Vec::new(), Vec::new());
        Self { random, records, tail: None, turns, trail, count: 0 }
    }

    pub(super) fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Writes a record with an id as a child of `parent`. Returns the id.
    pub(super) fn hang(&mut self, parent: Option<String>, fields: Value) -> String {
        let id = format!("r{}", self.number());
        let mut record = Map::new();
        record.insert("uuid".to_owned(), json!(id));
        record.insert("parentUuid".to_owned(), json!(parent));
        record.extend(fields.as_object().cloned().unwrap_or_default());
        self.stamp(&mut record);
        self.records.push(Value::Object(record));
        id
    }

    /// Writes a record after the tail, and makes it the tail.
    pub(super) fn follow(&mut self, fields: Value) -> String {
        let id = self.hang(self.tail.clone(), fields);
        self.move_to(id.clone());
        id
    }

    /// Makes this record the parent of the next one.
    pub(super) fn move_to(&mut self, id: String) {
        self.trail.push(id.clone());
        self.tail = Some(id);
    }

    /// Writes a record without an id.
    pub(super) fn line(&mut self, fields: Value) {
        let mut record = fields.as_object().cloned().unwrap_or_default();
        self.stamp(&mut record);
        self.records.push(Value::Object(record));
    }

    fn stamp(&mut self, record: &mut Map<String, Value>) {
        let minute = self.records.len();
        let time = format!("2026-11-15T{:02}:{:02}:00.000Z", minute / 60 % 24, minute % 60);
        record.insert("timestamp".to_owned(), json!(time));
        record.insert("sessionId".to_owned(), json!("5e55107f-0000-4000-8000-000000000001"));
    }

    /// Records the messages of a turn.
    pub(super) fn tell(&mut self, ids: Vec<String>, messages: Vec<Value>) {
        self.turns.push(WrittenTurn { ids, messages, carried: false });
    }

    /// The conversation in the file: consecutive user messages are one message.
    pub(super) fn messages(&self) -> Vec<Value> {
        let mut messages: Vec<Value> = Vec::new();
        for message in self.turns.iter().flat_map(|turn| &turn.messages) {
            match messages.last_mut() {
                Some(last) if message["role"] == "user" && last["role"] == "user" => {
                    let more = message["content"].as_array().cloned().unwrap_or_default();
                    last["content"].as_array_mut().into_iter().for_each(|list| {
                        list.extend(more.clone());
                    });
                }
                _ => messages.push(message.clone()),
            }
        }
        messages
    }
}

/// Content as a list of blocks.
pub(super) fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(list) => list.clone(),
        _ => Vec::new(),
    }
}

/// The content of a record: sometimes a single text is a plain string.
pub(super) fn content(random: &mut Random, blocks: &[Value]) -> Value {
    match blocks {
        [only] if only["type"] == "text" && only["text"].is_string() && random.chance(60) => {
            only["text"].clone()
        }
        list => Value::Array(list.to_vec()),
    }
}
