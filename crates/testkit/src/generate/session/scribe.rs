//! Writes records that are linked by their parents, and remembers what they tell.

use serde_json::{Map, Value, json};

use crate::random::Random;

/// Writes a file record by record.
pub(super) struct Scribe<'r> {
    pub(super) random: &'r mut Random,
    pub(super) records: Vec<Value>,
    /// The record that the next one hangs on.
    pub(super) tail: Option<String>,
    /// The turns since the last root.
    pub(super) turns: Vec<Turn>,
    /// Records on the way to the tail, since the last root.
    pub(super) trail: Vec<String>,
    count: usize,
}

/// What one turn wrote and told.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub(super) ids: Vec<String>,
    pub(super) told: Vec<Value>,
    /// A compaction carried it over.
    pub(super) carried: bool,
}

impl<'r> Scribe<'r> {
    pub(super) fn new(random: &'r mut Random) -> Self {
        let (records, turns, trail) = (Vec::new(), Vec::new(), Vec::new());
        Self { random, records, tail: None, turns, trail, count: 0 }
    }

    pub(super) fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Writes a record with an id that hangs on `parent`; gives the id back.
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

    /// Writes a record behind the tail, and makes it the tail.
    pub(super) fn follow(&mut self, fields: Value) -> String {
        let id = self.hang(self.tail.clone(), fields);
        self.move_to(id.clone());
        id
    }

    /// The next record hangs on this one.
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

    /// Notes what a turn told.
    pub(super) fn tell(&mut self, ids: Vec<String>, told: Vec<Value>) {
        self.turns.push(Turn { ids, told, carried: false });
    }

    /// What the file tells: users who speak in a row are one message.
    pub(super) fn told(&self) -> Vec<Value> {
        let mut told: Vec<Value> = Vec::new();
        for message in self.turns.iter().flat_map(|turn| &turn.told) {
            match told.last_mut() {
                Some(last) if message["role"] == "user" && last["role"] == "user" => {
                    let more = message["content"].as_array().cloned().unwrap_or_default();
                    last["content"].as_array_mut().into_iter().for_each(|list| {
                        list.extend(more.clone());
                    });
                }
                _ => told.push(message.clone()),
            }
        }
        told
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
