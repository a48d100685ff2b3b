//! A history as a flat list of elements that can be found again in a shorter one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use super::matching::{CallMatching, MatchOutcome};
use super::reading::{
    DocumentReading, OracleBlock, OracleBlockKind, OracleMessage, OracleRole, field,
};
use crate::dialect::TestFormat;

/// One element of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MessageAtom {
    /// Whether it is from the assistant, and the text. A system note that lost its position may
    /// become user text.
    Text(bool, String),
    /// The complete call.
    Call(String),
    /// The call of a tool result, and its id. The content may become shorter.
    Answer(String),
    /// Reasoning; it may be dropped if the history before it is gone.
    Thought(String),
    /// Anything else.
    Other(String),
}

/// The atoms of every message.
pub(super) fn atoms(
    reading: &DocumentReading<'_>,
    matching: &CallMatching<'_>,
) -> Vec<Vec<MessageAtom>> {
    let all = reading.messages.iter().enumerate();
    all.map(|(index, message)| of_message(reading, matching, index, message)).collect()
}

fn of_message(
    reading: &DocumentReading<'_>,
    matching: &CallMatching<'_>,
    index: usize,
    message: &OracleMessage<'_>,
) -> Vec<MessageAtom> {
    let mut atoms = Vec::new();
    for (at, block) in message.blocks.iter().enumerate() {
        match block.kind {
            OracleBlockKind::Text
                if matches!(reading.format, TestFormat::Responses | TestFormat::Interactions)
                    && field(message.value, "text").is_none() =>
            {
                atoms.extend(item_texts(message));
            }
            OracleBlockKind::Text => {
                let text = block.text().unwrap_or("").trim();
                atoms.extend((!text.is_empty()).then(|| {
                    MessageAtom::Text(message.role == OracleRole::Assistant, text.to_owned())
                }));
            }
            OracleBlockKind::Call => atoms.push(MessageAtom::Call(block.body.to_string())),
            OracleBlockKind::Answer => {
                atoms.push(MessageAtom::Answer(answer(reading, matching, (index, at), block)))
            }
            OracleBlockKind::Reasoning => atoms.push(MessageAtom::Thought(block.value.to_string())),
            OracleBlockKind::Other if block.value.as_object().is_some_and(Map::is_empty) => {}
            OracleBlockKind::ServerCall
            | OracleBlockKind::ServerAnswer
            | OracleBlockKind::Fallback
            | OracleBlockKind::Other
            | OracleBlockKind::Unknown => {
                atoms.push(MessageAtom::Other(block.value.to_string()));
            }
        }
    }
    atoms
}

/// A message item of the Responses format: one atom for each part.
fn item_texts(message: &OracleMessage<'_>) -> Vec<MessageAtom> {
    let one = |text: &str| {
        let text = text.trim();
        (!text.is_empty())
            .then(|| MessageAtom::Text(message.role == OracleRole::Assistant, text.to_owned()))
    };
    match message.field("content") {
        Some(Value::String(text)) => one(text).into_iter().collect(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| match field(part, "text") {
                Some(text) => one(text.as_str().unwrap_or("")),
                // An empty text is not an atom.
                None if field(part, "type")
                    .is_some_and(|kind| kind == "input_text" || kind == "text") =>
                {
                    None
                }
                None => Some(MessageAtom::Other(part.to_string())),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// A tool result by its id and its call, because ids repeat.
fn answer(
    reading: &DocumentReading<'_>,
    matching: &CallMatching<'_>,
    position: (usize, usize),
    block: &OracleBlock<'_>,
) -> String {
    let found = matching.answers.iter().find(|answer| answer.position == position);
    let id = found.and_then(|answer| answer.id).unwrap_or("");
    let call = found.and_then(|answer| match answer.fate {
        MatchOutcome::Of(call) => matching.calls.get(call),
        MatchOutcome::Duplicate | MatchOutcome::Orphan => None,
    });
    let call =
        call.and_then(|call| reading.messages.get(call.position.0)?.blocks.get(call.position.1));
    // A result whose call is missing is identified by its id; without one, by its content.
    let elsewhere =
        !id.is_empty() && found.is_some_and(|answer| answer.fate == MatchOutcome::Orphan);
    let key = match call {
        Some(call) => call.body.to_string(),
        None if elsewhere => "nobody".to_owned(),
        None => block.body.to_string(),
    };
    format!("{id} of {key}")
}

/// The bytes of every message; empty if the document has no list.
pub(super) fn slices(format: TestFormat, document: &str) -> Vec<String> {
    let list = match serde_json::from_str::<Vec<&RawValue>>(document) {
        Ok(list) => list,
        Err(_) => {
            let body: BTreeMap<String, &RawValue> =
                serde_json::from_str(document).unwrap_or_default();
            let list = body.get(format.list_key());
            match list {
                // One content in place of the list.
                Some(only) if only.get().starts_with('{') => vec![*only],
                list => {
                    list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
                }
            }
        }
    };
    list.iter().map(|message| message.get().to_owned()).collect()
}
