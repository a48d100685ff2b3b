//! Splits a history into turns, each tool call with its result.

use foxwedge_core::is_placeholder;
use foxwedge_formats::model::{
    CallPairs, ContentPart, MediaPart, MediaSource, ModelHistory, ModelRole, PartIndex,
    ReasoningPart, ToolCallPart, ToolResultPart, UnknownPart,
};

/// The messages of one role up to the next role. All steps of a tool loop are one turn.
pub struct ExportTurn<'h, 'a> {
    /// The role.
    pub role: ModelRole,
    /// Its parts, in order.
    pub items: Vec<ExportTurnItem<'h, 'a>>,
}

/// One part of a turn.
pub enum ExportTurnItem<'h, 'a> {
    /// Text.
    Text(&'h str),
    /// An image or a document.
    Media(&'h MediaPart<'a>),
    /// Reasoning.
    Reasoning(&'h ReasoningPart<'a>),
    /// A tool call and its result.
    Call(&'h ToolCallPart<'a>, Option<&'h ToolResultPart<'a>>),
    /// A tool result whose call is not in the history.
    OrphanAnswer(&'h ToolResultPart<'a>),
    /// A part of another kind.
    Other(&'h UnknownPart<'a>),
}

/// Status of a tool call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExportCallStatus {
    Answered,
    Failed,
    /// The result is a placeholder for a lost one.
    Placeholder,
    Open,
}

impl ExportCallStatus {
    pub(super) fn label(self) -> &'static str {
        match self {
            ExportCallStatus::Answered => "completed",
            ExportCallStatus::Failed => "failed",
            ExportCallStatus::Placeholder => "placeholder",
            ExportCallStatus::Open => "no result",
        }
    }
}

/// Status of a call with the given result.
pub(super) fn call_status(result: Option<&ToolResultPart<'_>>) -> ExportCallStatus {
    let Some(result) = result else { return ExportCallStatus::Open };
    let is_placeholder_result = match result.parts.as_slice() {
        [part] => match part.content() {
            ContentPart::Text(text) => {
                serde_json::to_string(&**text).is_ok_and(|raw| is_placeholder(&raw))
            }
            _ => false,
        },
        _ => false,
    };
    match (is_placeholder_result, result.error) {
        (true, _) => ExportCallStatus::Placeholder,
        (false, true) => ExportCallStatus::Failed,
        (false, false) => ExportCallStatus::Answered,
    }
}

/// Heading for a role.
pub(super) fn role_title(role: ModelRole) -> &'static str {
    match role {
        ModelRole::System => "System",
        ModelRole::Developer => "Developer",
        ModelRole::User => "User",
        ModelRole::Assistant => "Assistant",
    }
}

/// Splits a history into turns. Empty texts and messages are left out.
pub fn split_turns<'h, 'a>(history: &'h ModelHistory<'a>) -> Vec<ExportTurn<'h, 'a>> {
    let pairs = CallPairs::of(history);
    let at = |at: PartIndex| history.messages.get(at.message)?.parts.get(at.part);
    let mut turns: Vec<ExportTurn<'h, 'a>> = Vec::new();
    for (index, message) in history.messages.iter().enumerate() {
        let mut items = Vec::new();
        for (part, content) in message.parts.iter().enumerate() {
            let partner = pairs.partner(PartIndex { message: index, part });
            items.extend(match content.content() {
                ContentPart::Text(text) if text.trim().is_empty() => None,
                ContentPart::Text(text) => Some(ExportTurnItem::Text(text)),
                ContentPart::Media(media) => Some(ExportTurnItem::Media(media)),
                ContentPart::Reasoning(reasoning) => Some(ExportTurnItem::Reasoning(reasoning)),
                ContentPart::ToolCall(call) => {
                    let result = partner.and_then(at).and_then(|part| match part.content() {
                        ContentPart::ToolResult(result) => Some(result),
                        _ => None,
                    });
                    Some(ExportTurnItem::Call(call, result))
                }
                ContentPart::ToolResult(_) if partner.is_some() => None,
                ContentPart::ToolResult(result) => Some(ExportTurnItem::OrphanAnswer(result)),
                ContentPart::Unknown(other) => Some(ExportTurnItem::Other(other)),
            });
        }
        if items.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(turn) if turn.role == ModelRole::Assistant && message.role == turn.role => {
                turn.items.append(&mut items);
            }
            _ => turns.push(ExportTurn { role: message.role, items }),
        }
    }
    turns
}

/// Describes media that is not shown: type, name and size or source.
pub(super) fn describe_media(media: &MediaPart<'_>) -> String {
    let mut details = vec![media.kind.name().to_owned()];
    details.extend(media.media_type.as_deref().map(str::to_owned));
    details.extend(media.name.as_deref().map(|name| format!("“{name}”")));
    details.push(match &media.source {
        MediaSource::Data(data) => format_bytes(decoded_length(data)),
        MediaSource::Text(text) => format_bytes(text.len()),
        MediaSource::Url(url) => format!("at {url}"),
        MediaSource::Stored { id, .. } => format!("stored by the provider as {id}"),
    });
    details.join(", ")
}

/// Number of bytes that a base64 text encodes.
fn decoded_length(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

/// Formats a number of bytes for people.
pub(super) fn format_bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
