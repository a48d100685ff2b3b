//! What a document says, before anybody judges it: messages, roles, blocks.
//!
//! Reading never fails. A value of the wrong type is read as if it were absent, and a message
//! that is no object is a message of the user with nothing in it.

use serde_json::Value;

use super::blocks;
use crate::dialect::Dialect;

/// How a dialect arranges calls and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Answers are messages of their own.
    Chat,
    /// Answers are blocks inside user messages.
    Blocks,
    /// A flat list of items.
    Items,
}

/// The side a message or item stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
    /// A message or an item that is an answer as a whole.
    Answer,
    /// Known, and on neither side.
    Other,
}

/// A whole document.
pub(super) struct Reading<'a> {
    pub(super) dialect: Dialect,
    pub(super) layout: Layout,
    pub(super) root: &'a Value,
    /// The list itself, if the document has one.
    pub(super) list: Option<&'a Vec<Value>>,
    pub(super) request: bool,
    pub(super) stateful: bool,
    pub(super) messages: Vec<Message<'a>>,
}

/// One message, content or item.
pub(super) struct Message<'a> {
    pub(super) value: &'a Value,
    pub(super) role: Role,
    /// False when the role is missing or foreign to the dialect.
    pub(super) known: bool,
    pub(super) blocks: Vec<Block<'a>>,
}

/// One block, part or call of a message; in the items layout the item itself.
pub(super) struct Block<'a> {
    pub(super) kind: Kind,
    /// The object that holds the fields of this kind.
    pub(super) body: &'a Value,
    /// The element of the list, which is `body` or holds it.
    pub(super) value: &'a Value,
    pub(super) place: Place,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Call,
    Answer,
    ServerCall,
    ServerAnswer,
    Reasoning,
    Other,
}

/// Where in its message a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The message itself, or its plain string.
    Whole,
    /// An element of `content` or `parts`.
    Content(usize),
    /// An element of `tool_calls`.
    ToolCalls(usize),
}

impl<'a> Reading<'a> {
    /// Reads a bare list or a request.
    pub(super) fn new(dialect: Dialect, root: &'a Value) -> Self {
        let layout = match dialect {
            Dialect::Chat => Layout::Chat,
            Dialect::Anthropic | Dialect::Gemini | Dialect::Bedrock => Layout::Blocks,
            Dialect::Responses => Layout::Items,
        };
        let key = dialect.list_key();
        let list = root.as_array().or_else(|| field(root, key)?.as_array());
        let request = root.as_object().is_some_and(|object| {
            object.contains_key(key) && object.keys().any(|other| other != key)
        });
        let elements = list.map_or(&[][..], Vec::as_slice);
        let mut messages: Vec<Message<'a>> =
            elements.iter().map(|value| Message::new(dialect, value)).collect();
        if layout == Layout::Items {
            super::items::set_hosted_apart(&mut messages);
        }
        let stateful = continues(root, request) || (layout == Layout::Items && refers(elements));
        Self { dialect, layout, root, list, request, stateful, messages }
    }

    /// The role at `index`, if there is such a message.
    pub(super) fn role(&self, index: usize) -> Option<Role> {
        self.messages.get(index).map(|message| message.role)
    }

    /// The role of the message before `index`.
    pub(super) fn role_before(&self, index: usize) -> Option<Role> {
        index.checked_sub(1).and_then(|before| self.role(before))
    }

    /// The maximal runs of neighbouring assistant messages, as first and one past the last.
    pub(super) fn assistant_runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            match runs.last_mut() {
                _ if message.role != Role::Assistant => {}
                Some((_, end)) if *end == index => *end = index + 1,
                _ => runs.push((index, index + 1)),
            }
        }
        runs
    }

    /// The name of a place.
    pub(super) fn at(&self, message: usize, block: usize) -> String {
        let place = self.messages.get(message).and_then(|message| message.blocks.get(block));
        let list = if self.dialect == Dialect::Gemini { "parts" } else { "content" };
        match place.map_or(Place::Whole, |block| block.place) {
            Place::Whole => format!("[{message}]"),
            Place::Content(index) => format!("[{message}].{list}[{index}]"),
            Place::ToolCalls(index) => format!("[{message}].tool_calls[{index}]"),
        }
    }

    /// A string field of the request itself.
    pub(super) fn root_text(&self, key: &str) -> &'a str {
        text(self.root, key).unwrap_or("")
    }
}

impl<'a> Message<'a> {
    fn new(dialect: Dialect, value: &'a Value) -> Self {
        let (role, known) = match dialect {
            Dialect::Responses => super::items::role(value),
            _ => role(dialect, value),
        };
        Self { value, role, known, blocks: blocks::of_message(dialect, value, role) }
    }

    /// True when a block of this kind is inside.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.blocks.iter().any(|block| block.kind == kind)
    }

    /// True when the message holds client calls that stand where calls belong.
    pub(super) fn calls(&self) -> bool {
        self.role == Role::Assistant && self.has(Kind::Call)
    }

    /// A field that is there and not null.
    pub(super) fn field(&self, key: &str) -> Option<&'a Value> {
        field(self.value, key)
    }
}

impl<'a> Block<'a> {
    /// The text of a text block; nothing when it is no string.
    pub(super) fn text(&self) -> Option<&'a str> {
        match (self.kind, self.body) {
            (Kind::Text, Value::String(text)) => Some(text),
            (Kind::Text, body) => text(body, "text"),
            _ => None,
        }
    }
}

/// A field that is there and not null.
pub(super) fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// A field that is a string.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    field(value, key)?.as_str()
}

/// An id: a string that is not empty.
pub(super) fn id<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|id| !id.is_empty())
}

fn role(dialect: Dialect, value: &Value) -> (Role, bool) {
    let name = match field(value, "role") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(_) => return (Role::User, false),
        None => None,
    };
    match (dialect, name) {
        (Dialect::Gemini, None | Some("user" | "function" | "tool")) => (Role::User, true),
        (Dialect::Gemini, Some("model")) => (Role::Assistant, true),
        (Dialect::Gemini, Some("assistant")) => (Role::User, false),
        (_, Some("user")) => (Role::User, true),
        (_, Some("assistant")) => (Role::Assistant, true),
        (_, Some("system")) => (Role::System, true),
        (Dialect::Chat, Some("tool")) => (Role::Answer, true),
        (Dialect::Chat, Some("function")) => (Role::Other, true),
        (Dialect::Chat, Some("developer")) => (Role::System, true),
        (_, Some("developer")) => (Role::System, false),
        (_, _) => (Role::User, false),
    }
}

fn continues(root: &Value, request: bool) -> bool {
    let thread = field(root, "thread").and_then(|thread| text(thread, "type"));
    let stored =
        ["previous_response_id", "conversation"].iter().any(|key| field(root, key).is_some());
    request && (stored || thread == Some("continue"))
}

fn refers(items: &[Value]) -> bool {
    items.iter().any(|item| text(item, "type") == Some("item_reference"))
}
