//! Reads the messages, roles and blocks of a document.
//!
//! Reading never fails. A value of a wrong type counts as absent, and a message that is not an
//! object is an empty user message.

use serde_json::Value;

use super::{blocks, items};
use crate::dialect::TestFormat;

/// How a format arranges calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OracleLayout {
    /// Results are separate messages.
    Chat,
    /// Results are blocks of user messages.
    Blocks,
    /// A flat list of items.
    Items,
}

/// The side of a message or item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OracleRole {
    User,
    Assistant,
    System,
    /// A message or an item that is a tool result.
    Answer,
    /// Known, and of neither side.
    Other,
}

/// A whole document.
pub(super) struct DocumentReading<'a> {
    pub(super) format: TestFormat,
    pub(super) layout: OracleLayout,
    pub(super) root: &'a Value,
    /// The list itself, if the document has one.
    pub(super) list: Option<&'a Vec<Value>>,
    pub(super) request: bool,
    pub(super) stateful: bool,
    /// Results have messages of their own.
    pub(super) results_apart: bool,
    pub(super) messages: Vec<OracleMessage<'a>>,
}

/// One message, content or item.
pub(super) struct OracleMessage<'a> {
    pub(super) value: &'a Value,
    pub(super) role: OracleRole,
    /// False if the role is missing or not part of the format.
    pub(super) known: bool,
    pub(super) blocks: Vec<OracleBlock<'a>>,
}

/// One block, part or call of a message; in the items layout, the item itself.
pub(super) struct OracleBlock<'a> {
    pub(super) kind: OracleBlockKind,
    /// The object that holds the fields of this kind.
    pub(super) body: &'a Value,
    /// The element of the list, which is `body` or holds it.
    pub(super) value: &'a Value,
    pub(super) place: BlockPlace,
    /// Whether it takes part in pairing; not in a turn with something unknown.
    pub(super) paired: bool,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OracleBlockKind {
    Text,
    Call,
    Answer,
    ServerCall,
    ServerAnswer,
    Reasoning,
    /// Another model takes over.
    Fallback,
    Other,
    /// A type that this format does not have.
    Unknown,
}

/// The position of a block in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPlace {
    /// The message itself, or its plain string.
    Whole,
    /// An element of `content` or `parts`.
    Content(usize),
    /// An element of `tool_calls`.
    ToolCalls(usize),
}

impl<'a> DocumentReading<'a> {
    /// Reads a bare list or a request.
    pub(super) fn new(format: TestFormat, root: &'a Value) -> Self {
        let layout = match format {
            TestFormat::Chat => OracleLayout::Chat,
            TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Bedrock => {
                OracleLayout::Blocks
            }
            TestFormat::Responses | TestFormat::Interactions => OracleLayout::Items,
        };
        let key = format.list_key();
        let list = root.as_array().or_else(|| field(root, key)?.as_array());
        let request = root.as_object().is_some_and(|object| {
            object.contains_key(key) && object.keys().any(|other| other != key)
        });
        let only = field(root, key).filter(|it| format == TestFormat::Gemini && it.is_object());
        let elements = list.map_or(only.map_or(&[][..], std::slice::from_ref), Vec::as_slice);
        let mut messages: Vec<OracleMessage<'a>> =
            elements.iter().map(|value| OracleMessage::new(format, value)).collect();
        match format {
            TestFormat::Responses => super::items::set_hosted_apart(&mut messages),
            TestFormat::Interactions => super::steps::set_hosted_apart(&mut messages),
            _ => {}
        }
        let stateful =
            continues(root, request) || (format == TestFormat::Responses && refers(elements));
        let results_apart = false;
        Self { format, layout, root, list, request, stateful, results_apart, messages }
    }

    /// Whether the results of a turn can be in the message at `index`.
    pub(super) fn takes_results(&self, index: usize) -> bool {
        self.messages.get(index).is_some_and(|message| match self.layout {
            OracleLayout::Blocks => {
                let is_place = !self.results_apart || message.has(OracleBlockKind::Answer);
                message.role == OracleRole::User && is_place
            }
            OracleLayout::Chat | OracleLayout::Items => message.role == OracleRole::Answer,
        })
    }

    /// The role at `index`, if there is such a message.
    pub(super) fn role(&self, index: usize) -> Option<OracleRole> {
        self.messages.get(index).map(|message| message.role)
    }

    pub(super) fn role_before(&self, index: usize) -> Option<OracleRole> {
        index.checked_sub(1).and_then(|before| self.role(before))
    }

    /// The maximal runs of adjacent assistant messages, as first and one past the last.
    pub(super) fn assistant_runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            match runs.last_mut() {
                _ if message.role != OracleRole::Assistant => {}
                Some((_, end)) if *end == index => *end = index + 1,
                _ => runs.push((index, index + 1)),
            }
        }
        runs
    }

    /// The position of a block, as text.
    pub(super) fn at(&self, message: usize, block: usize) -> String {
        let place = self.messages.get(message).and_then(|message| message.blocks.get(block));
        let list = if self.format == TestFormat::Gemini { "parts" } else { "content" };
        match place.map_or(BlockPlace::Whole, |block| block.place) {
            BlockPlace::Whole => format!("[{message}]"),
            BlockPlace::Content(index) => format!("[{message}].{list}[{index}]"),
            BlockPlace::ToolCalls(index) => format!("[{message}].tool_calls[{index}]"),
        }
    }

    /// A string field of the request itself.
    pub(super) fn root_text(&self, key: &str) -> &'a str {
        text(self.root, key).unwrap_or("")
    }
}

impl<'a> OracleMessage<'a> {
    fn new(format: TestFormat, value: &'a Value) -> Self {
        if super::foreign::whole(format, value).is_some() {
            let blocks = blocks::of_message(TestFormat::Chat, value, OracleRole::Answer);
            return match format {
                TestFormat::Anthropic => {
                    Self { value, role: OracleRole::User, known: false, blocks }
                }
                _ => Self { value, role: OracleRole::Answer, known: true, blocks },
            };
        }
        let (role, known) = match format {
            TestFormat::Responses => super::items::role(value),
            TestFormat::Interactions => super::steps::role(value),
            _ => role(format, value),
        };
        let blocks = blocks::of_message(format, value, role);
        // An unknown role beside something unknown stays, and may be anybody's.
        let is_unknown = blocks.iter().any(|block| block.kind == OracleBlockKind::Unknown);
        let role = if !known && is_unknown { OracleRole::User } else { role };
        Self { value, role, known, blocks }
    }

    /// Whether it has a block of this kind.
    pub(super) fn has(&self, kind: OracleBlockKind) -> bool {
        self.blocks.iter().any(|block| block.kind == kind)
    }

    /// Whether the message has client calls at a position where calls are allowed.
    pub(super) fn calls(&self) -> bool {
        self.role == OracleRole::Assistant && self.has(OracleBlockKind::Call)
    }

    /// A field that is present and not null.
    pub(super) fn field(&self, key: &str) -> Option<&'a Value> {
        field(self.value, key)
    }
}

impl<'a> OracleBlock<'a> {
    /// The text of a text block, if it is a string.
    pub(super) fn text(&self) -> Option<&'a str> {
        match (self.kind, self.body) {
            (OracleBlockKind::Text, Value::String(text)) => Some(text),
            (OracleBlockKind::Text, body) => text(body, "text"),
            _ => None,
        }
    }
}

/// A field that is present and not null.
pub(super) fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// A field that is a string.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    field(value, key)?.as_str()
}

/// An id: a non-empty string.
pub(super) fn id<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|id| !id.is_empty())
}

fn role(format: TestFormat, value: &Value) -> (OracleRole, bool) {
    let name = match field(value, "role") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(_) => return (OracleRole::User, false),
        None => None,
    };
    match (format, name) {
        (TestFormat::Gemini, None | Some("user" | "function" | "tool")) => (OracleRole::User, true),
        (TestFormat::Gemini, Some("model")) => (OracleRole::Assistant, true),
        (TestFormat::Gemini, Some("assistant")) => (OracleRole::User, false),
        (_, Some("user")) => (OracleRole::User, true),
        (_, Some("assistant")) => (OracleRole::Assistant, true),
        (_, Some("system")) => (OracleRole::System, true),
        (TestFormat::Chat, Some("tool")) => (OracleRole::Answer, true),
        (TestFormat::Chat, Some("function")) => (OracleRole::Other, true),
        (TestFormat::Chat, Some("developer")) => (OracleRole::System, true),
        (_, Some("developer")) => (OracleRole::System, false),
        (_, _) => (OracleRole::User, false),
    }
}

fn continues(root: &Value, request: bool) -> bool {
    let thread = field(root, "thread").and_then(|thread| text(thread, "type"));
    let stored =
        ["previous_response_id", "conversation", "previous_interaction_id", "continuation_token"];
    let stored = stored.iter().any(|key| field(root, key).is_some());
    request && (stored || thread == Some("continue"))
}

fn refers(list: &[Value]) -> bool {
    list.iter().any(items::is_reference)
}
