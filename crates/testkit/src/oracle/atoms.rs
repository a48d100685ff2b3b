//! A history as a flat list of things that can be found again in a shorter one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use super::matching::{Fate, Matching};
use super::reading::{Block, Kind, Message, Reading, Role, field};
use crate::dialect::Dialect;

/// Something a message holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// Whether the assistant says it, and what. A note of the system that has lost its place may
    /// become one of the user.
    Text(bool, String),
    /// The whole call.
    Call(String),
    /// The call it answers, and its id. What it says may become shorter.
    Answer(String),
    /// Reasoning; it may go, where its past is gone.
    Thought(String),
    /// Anything else.
    Other(String),
}

/// The atoms of every message.
pub(super) fn atoms(reading: &Reading<'_>, matching: &Matching<'_>) -> Vec<Vec<Atom>> {
    let all = reading.messages.iter().enumerate();
    all.map(|(index, message)| of_message(reading, matching, index, message)).collect()
}

fn of_message(
    reading: &Reading<'_>,
    matching: &Matching<'_>,
    index: usize,
    message: &Message<'_>,
) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for (at, block) in message.blocks.iter().enumerate() {
        match block.kind {
            Kind::Text if reading.dialect == Dialect::Responses => {
                atoms.extend(item_texts(message));
            }
            Kind::Text => {
                let text = block.text().unwrap_or("").trim();
                atoms.extend(
                    (!text.is_empty())
                        .then(|| Atom::Text(message.role == Role::Assistant, text.to_owned())),
                );
            }
            Kind::Call => atoms.push(Atom::Call(block.body.to_string())),
            Kind::Answer => atoms.push(Atom::Answer(answer(reading, matching, (index, at), block))),
            Kind::Reasoning => atoms.push(Atom::Thought(block.value.to_string())),
            Kind::Other if block.value.as_object().is_some_and(Map::is_empty) => {}
            Kind::ServerCall | Kind::ServerAnswer | Kind::Other => {
                atoms.push(Atom::Other(block.value.to_string()));
            }
        }
    }
    atoms
}

/// A message item of the Responses dialect: one atom for each part.
fn item_texts(message: &Message<'_>) -> Vec<Atom> {
    let one = |text: &str| {
        let text = text.trim();
        (!text.is_empty()).then(|| Atom::Text(message.role == Role::Assistant, text.to_owned()))
    };
    match message.field("content") {
        Some(Value::String(text)) => one(text).into_iter().collect(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| match field(part, "text") {
                Some(text) => one(text.as_str().unwrap_or("")),
                // A text without words says nothing.
                None if field(part, "type").is_some_and(|kind| kind == "input_text") => None,
                None => Some(Atom::Other(part.to_string())),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// An answer by its id and by the call it belongs to: ids repeat.
fn answer(
    reading: &Reading<'_>,
    matching: &Matching<'_>,
    position: (usize, usize),
    block: &Block<'_>,
) -> String {
    let found = matching.answers.iter().find(|answer| answer.position == position);
    let id = found.and_then(|answer| answer.id).unwrap_or("");
    let call = found.and_then(|answer| match answer.fate {
        Fate::Of(call) => matching.calls.get(call),
        Fate::Duplicate | Fate::Orphan => None,
    });
    let call =
        call.and_then(|call| reading.messages.get(call.position.0)?.blocks.get(call.position.1));
    // An answer whose call lies elsewhere is known by its id; without one, by all it says.
    let elsewhere = !id.is_empty() && found.is_some_and(|answer| answer.fate == Fate::Orphan);
    let key = match call {
        Some(call) => call.body.to_string(),
        None if elsewhere => "nobody".to_owned(),
        None => block.body.to_string(),
    };
    format!("{id} of {key}")
}

/// The text of every message, byte for byte; empty if the document holds no list.
pub(super) fn slices(dialect: Dialect, document: &str) -> Vec<String> {
    let list = match serde_json::from_str::<Vec<&RawValue>>(document) {
        Ok(list) => list,
        Err(_) => {
            let body: BTreeMap<String, &RawValue> =
                serde_json::from_str(document).unwrap_or_default();
            let list = body.get(dialect.list_key());
            list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
        }
    };
    list.iter().map(|message| message.get().to_owned()).collect()
}
