//! A history as it is read: turns, and every answer beside its call.

use foxwedge_core::is_placeholder;
use foxwedge_formats::model::{
    CallPairs, ContentPart, MediaPart, MediaSource, ModelHistory, ModelRole, PartIndex,
    ReasoningPart, ToolCallPart, ToolResultPart, UnknownPart,
};

/// What one side said before the other spoke. The steps of a tool loop are one turn.
pub(super) struct ExportTurn<'h, 'a> {
    pub(super) role: ModelRole,
    pub(super) items: Vec<ExportTurnItem<'h, 'a>>,
}

/// One thing that was said or done.
pub(super) enum ExportTurnItem<'h, 'a> {
    Text(&'h str),
    Media(&'h MediaPart<'a>),
    Reasoning(&'h ReasoningPart<'a>),
    Call(&'h ToolCallPart<'a>, Option<&'h ToolResultPart<'a>>),
    /// An answer whose call is not in the history.
    OrphanAnswer(&'h ToolResultPart<'a>),
    Other(&'h UnknownPart<'a>),
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExportCallStatus {
    Answered,
    Failed,
    /// The answer stands in for one that was lost.
    Placeholder,
    Open,
}

impl ExportCallStatus {
    pub(super) fn label(self) -> &'static str {
        match self {
            ExportCallStatus::Answered => "answered",
            ExportCallStatus::Failed => "failed",
            ExportCallStatus::Placeholder => "placeholder",
            ExportCallStatus::Open => "no answer",
        }
    }
}

/// How a call with that answer ended.
pub(super) fn call_status(answer: Option<&ToolResultPart<'_>>) -> ExportCallStatus {
    let Some(answer) = answer else { return ExportCallStatus::Open };
    let stands_in = match answer.parts.as_slice() {
        [part] => match part.content() {
            ContentPart::Text(text) => {
                serde_json::to_string(&**text).is_ok_and(|raw| is_placeholder(&raw))
            }
            _ => false,
        },
        _ => false,
    };
    match (stands_in, answer.error) {
        (true, _) => ExportCallStatus::Placeholder,
        (false, true) => ExportCallStatus::Failed,
        (false, false) => ExportCallStatus::Answered,
    }
}

/// What role means to a reader.
pub(super) fn role_title(role: ModelRole) -> &'static str {
    match role {
        ModelRole::System => "System",
        ModelRole::Developer => "Developer",
        ModelRole::User => "User",
        ModelRole::Assistant => "Assistant",
    }
}

/// A history in turns. What says nothing is left out.
pub(super) fn split_turns<'h, 'a>(history: &'h ModelHistory<'a>) -> Vec<ExportTurn<'h, 'a>> {
    let pairs = CallPairs::of(history);
    let at = |at: PartIndex| history.messages.get(at.message)?.parts.get(at.part);
    let mut scenes: Vec<ExportTurn<'h, 'a>> = Vec::new();
    for (message, said) in history.messages.iter().enumerate() {
        let mut acts = Vec::new();
        for (part, one) in said.parts.iter().enumerate() {
            let partner = pairs.partner(PartIndex { message, part });
            acts.extend(match one.content() {
                ContentPart::Text(text) if text.trim().is_empty() => None,
                ContentPart::Text(text) => Some(ExportTurnItem::Text(text)),
                ContentPart::Media(media) => Some(ExportTurnItem::Media(media)),
                ContentPart::Reasoning(reasoning) => Some(ExportTurnItem::Reasoning(reasoning)),
                ContentPart::ToolCall(call) => {
                    let answer = partner.and_then(at).and_then(|part| match part.content() {
                        ContentPart::ToolResult(answer) => Some(answer),
                        _ => None,
                    });
                    Some(ExportTurnItem::Call(call, answer))
                }
                ContentPart::ToolResult(_) if partner.is_some() => None,
                ContentPart::ToolResult(answer) => Some(ExportTurnItem::OrphanAnswer(answer)),
                ContentPart::Unknown(other) => Some(ExportTurnItem::Other(other)),
            });
        }
        if acts.is_empty() {
            continue;
        }
        match scenes.last_mut() {
            Some(scene) if scene.role == ModelRole::Assistant && said.role == scene.role => {
                scene.items.append(&mut acts);
            }
            _ => scenes.push(ExportTurn { role: said.role, items: acts }),
        }
    }
    scenes
}

/// What is said of media that is not shown: what it is, and how large.
pub(super) fn describe_media(media: &MediaPart<'_>) -> String {
    let mut words = vec![media.kind.name().to_owned()];
    words.extend(media.media_type.as_deref().map(str::to_owned));
    words.extend(media.name.as_deref().map(|name| format!("“{name}”")));
    words.push(match &media.source {
        MediaSource::Data(data) => format_bytes(decoded_length(data)),
        MediaSource::Text(text) => format_bytes(text.len()),
        MediaSource::Url(url) => format!("at {url}"),
        MediaSource::Stored { id, .. } => format!("stored by the provider as {id}"),
    });
    words.join(", ")
}

/// How many bytes a base64 text stands for.
fn decoded_length(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

/// A number of bytes, as people say it.
pub(super) fn format_bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
