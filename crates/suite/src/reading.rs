//! What a history says, independent of its format: texts by side, calls, results.

use std::collections::HashMap;

use foxwedge_core::{
    Draft, PairedAnswer, PairedCall, PartKind, ResultMatch, Role, Span, pair_calls,
};
use serde_json::Value;

use crate::{
    ProfileRules,
    value_text::{call_arguments, parse_lenient, part_text, result_text},
};

/// Fields of a request that hold instructions beside the list of messages.
const INSTRUCTION_FIELDS: [&str; 4] =
    ["system", "systemInstruction", "system_instruction", "instructions"];

/// The content of a history.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HistoryReading {
    /// What it says, in order.
    pub items: Vec<HistoryItem>,
    /// The number of messages.
    pub messages: usize,
}

/// One element of a history.
#[derive(Clone, PartialEq, Debug)]
pub struct HistoryItem {
    /// The side that it belongs to.
    pub side: HistorySide,
    /// What it is.
    pub content: ItemContent,
}

/// A side of the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistorySide {
    /// Instructions, under any role name.
    System,
    /// The user, and what has no known role.
    User,
    /// The model.
    Assistant,
}

/// What an element is.
#[derive(Clone, PartialEq, Debug)]
pub enum ItemContent {
    /// Text.
    Text(String),
    /// A call that the client answers.
    Call {
        /// Its id.
        id: Option<String>,
        /// The tool.
        name: Option<String>,
        /// Its arguments; `null` if they do not parse.
        arguments: Value,
        /// The text of its result, if it has one.
        result: Option<String>,
    },
    /// A result that belongs to no call, or to one that has a result already.
    StrayResult(String),
    /// Anything else, as JSON: reasoning, media, calls of the provider.
    Other(String),
}

impl HistoryReading {
    /// Reads a history.
    ///
    /// # Errors
    /// If the text holds no history in the format of the rules.
    pub fn of(rules: &ProfileRules, text: &str) -> Result<HistoryReading, String> {
        let mut reading = rules.with_draft(text, read_draft)?;
        let instructions = instructions(&parse_lenient(text));
        reading.items.splice(0..0, instructions);
        Ok(reading)
    }

    /// The texts of both sides and the instructions, in order.
    pub fn texts(&self) -> impl Iterator<Item = (HistorySide, &str)> {
        self.items.iter().filter_map(|item| match &item.content {
            ItemContent::Text(text) => Some((item.side, text.as_str())),
            _ => None,
        })
    }

    /// The elements that say something: all but blank texts.
    pub fn said(&self) -> impl Iterator<Item = &HistoryItem> {
        self.items.iter().filter(|item| match &item.content {
            ItemContent::Text(text) => !text.trim().is_empty(),
            ItemContent::Call { .. } | ItemContent::StrayResult(_) | ItemContent::Other(_) => true,
        })
    }

    /// Whether two histories say the same, in the same number of messages.
    pub fn says_the_same(&self, other: &HistoryReading) -> bool {
        self.messages == other.messages && self.said().eq(other.said())
    }

    /// Every text, result and other content, in order.
    pub fn all_text(&self) -> String {
        let mut all = String::new();
        for item in &self.items {
            let text = match &item.content {
                ItemContent::Text(text)
                | ItemContent::StrayResult(text)
                | ItemContent::Other(text) => text,
                ItemContent::Call { result: Some(text), .. } => text,
                ItemContent::Call { result: None, .. } => continue,
            };
            all.push_str(text);
            all.push('\n');
        }
        all
    }
}

fn instructions(document: &Value) -> Vec<HistoryItem> {
    let fields = INSTRUCTION_FIELDS.iter().filter_map(|key| document.get(key));
    let texts = fields.map(result_text).filter(|text| !text.is_empty());
    let item = |text| HistoryItem { side: HistorySide::System, content: ItemContent::Text(text) };
    let mut items: Vec<HistoryItem> = texts.map(item).collect();
    // A single user text may stand in the place of the list.
    if let Some(text) = document.get("input").and_then(Value::as_str) {
        let content = ItemContent::Text(text.to_owned());
        items.push(HistoryItem { side: HistorySide::User, content });
    }
    items
}

fn read_draft(draft: &Draft<'_>) -> HistoryReading {
    let pairing = pair_calls(draft);
    let value = |span: Span| parse_lenient(span.of(draft.source));
    let answer_text = |part: usize| match &draft.parts[part].kind {
        PartKind::Answer(answer) => result_text(&value(answer.content)),
        _ => String::new(),
    };
    let calls: HashMap<usize, &PairedCall> =
        pairing.calls.iter().map(|call| (call.part(), call)).collect();
    let answers: HashMap<usize, &PairedAnswer> =
        pairing.answers.iter().map(|answer| (answer.part(), answer)).collect();
    let mut items = Vec::new();
    for message in &draft.messages {
        let side = match message.role {
            Role::Assistant => HistorySide::Assistant,
            Role::System | Role::Developer => HistorySide::System,
            Role::User | Role::Unknown | Role::Answer | Role::Neutral => HistorySide::User,
        };
        for index in message.range() {
            let part = &draft.parts[index];
            let content = match &part.kind {
                PartKind::Text(_) => ItemContent::Text(part_text(&value(part.span))),
                PartKind::Call(call) => {
                    let answer = calls.get(&index).and_then(|paired| paired.answer());
                    let answer = answer.and_then(|at| pairing.answers.get(at));
                    ItemContent::Call {
                        id: call.id.as_deref().map(str::to_owned),
                        name: call.name.as_deref().map(str::to_owned),
                        arguments: call_arguments(&value(part.span)),
                        result: answer.map(|answer| answer_text(answer.part())),
                    }
                }
                PartKind::Answer(_) => {
                    let stray = answers.get(&index).is_none_or(|paired| {
                        matches!(
                            paired.result_match(),
                            ResultMatch::Duplicate(_) | ResultMatch::Orphan
                        )
                    });
                    if !stray {
                        continue;
                    }
                    ItemContent::StrayResult(answer_text(index))
                }
                PartKind::Media
                | PartKind::Reasoning(_)
                | PartKind::ServerCall(_)
                | PartKind::ServerAnswer(_)
                | PartKind::Fallback
                | PartKind::Other
                | PartKind::Unknown => ItemContent::Other(value(part.span).to_string()),
            };
            items.push(HistoryItem { side, content });
        }
    }
    HistoryReading { items, messages: draft.messages.len() }
}
