//! A conversation as JSON. Field names are stable.

use foxwedge_formats::model::{
    ContentPart, MediaSource, ModelHistory, ModelMessage, ModelPart, ModelRole,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{ExportHeader, ExportIndexEntry};

/// Writes the document, with a line break at its end.
pub fn json(header: &ExportHeader, history: &ModelHistory<'_>) -> String {
    let messages = history.messages.iter().map(ExportMessage::of).collect();
    to_text(&ExportDocument { version: 1, session: ExportSession::of(header), messages })
}

/// Writes the index of a folder of documents.
pub fn json_index(entries: &[ExportIndexEntry]) -> String {
    let sessions = entries.iter().map(|entry| ExportIndexSession {
        document: &entry.document,
        session: ExportSession::of(&entry.header),
    });
    to_text(&ExportIndex { version: 1, sessions: sessions.collect() })
}

fn to_text(document: &impl Serialize) -> String {
    // Cannot fail: a document has only strings, numbers and lists.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(Serialize)]
struct ExportDocument<'h> {
    version: u32,
    session: ExportSession<'h>,
    messages: Vec<ExportMessage<'h>>,
}

#[derive(Serialize)]
struct ExportIndex<'h> {
    version: u32,
    sessions: Vec<ExportIndexSession<'h>>,
}

#[derive(Serialize)]
struct ExportIndexSession<'h> {
    document: &'h str,
    #[serde(flatten)]
    session: ExportSession<'h>,
}

#[derive(Serialize)]
struct ExportSession<'h> {
    agent: &'h str,
    id: &'h str,
    title: Option<&'h str>,
    project: Option<&'h str>,
    started: Option<&'h str>,
    updated: Option<&'h str>,
    file: Option<&'h str>,
    messages: usize,
    calls: usize,
    notes: &'h [String],
}

impl<'h> ExportSession<'h> {
    fn of(header: &'h ExportHeader) -> ExportSession<'h> {
        ExportSession {
            agent: &header.agent,
            id: &header.session,
            title: header.title.as_deref(),
            project: header.project.as_deref(),
            started: header.started.as_deref(),
            updated: header.updated.as_deref(),
            file: header.file.as_deref(),
            messages: header.messages,
            calls: header.calls,
            notes: &header.notes,
        }
    }
}

#[derive(Serialize)]
struct ExportMessage<'h> {
    role: &'static str,
    parts: Vec<ExportPart<'h>>,
}

impl<'h> ExportMessage<'h> {
    fn of(message: &'h ModelMessage<'_>) -> ExportMessage<'h> {
        let role = match message.role {
            ModelRole::System => "system",
            ModelRole::Developer => "developer",
            ModelRole::User => "user",
            ModelRole::Assistant => "assistant",
        };
        ExportMessage { role, parts: message.parts.iter().map(part_entry).collect() }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ExportPart<'h> {
    Text {
        text: &'h str,
    },
    Media {
        kind: &'static str,
        media_type: Option<&'h str>,
        name: Option<&'h str>,
        #[serde(flatten)]
        source: ExportMediaSource<'h>,
    },
    Reasoning {
        text: &'h str,
        sealed: bool,
    },
    Call {
        id: Option<&'h str>,
        name: &'h str,
        arguments: ExportJsonValue<'h>,
    },
    Answer {
        id: Option<&'h str>,
        name: Option<&'h str>,
        error: bool,
        parts: Vec<ExportPart<'h>>,
    },
    Other {
        name: &'h str,
        json: ExportJsonValue<'h>,
    },
}

/// Source of media.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ExportMediaSource<'h> {
    Base64(&'h str),
    Text(&'h str),
    Url(&'h str),
    StoredAs(&'h str),
}

/// A raw JSON value, or a string if the text is not valid JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum ExportJsonValue<'h> {
    Value(&'h RawValue),
    Text(&'h str),
}

impl<'h> ExportJsonValue<'h> {
    fn of(text: &'h str) -> ExportJsonValue<'h> {
        serde_json::from_str(text).map_or(ExportJsonValue::Text(text), ExportJsonValue::Value)
    }
}

fn part_entry<'h>(part: &'h ModelPart<'_>) -> ExportPart<'h> {
    match part.content() {
        ContentPart::Text(text) => ExportPart::Text { text },
        ContentPart::Media(media) => ExportPart::Media {
            kind: media.kind.name(),
            media_type: media.media_type.as_deref(),
            name: media.name.as_deref(),
            source: match &media.source {
                MediaSource::Data(data) => ExportMediaSource::Base64(data),
                MediaSource::Text(text) => ExportMediaSource::Text(text),
                MediaSource::Url(url) => ExportMediaSource::Url(url),
                MediaSource::Stored { id, .. } => ExportMediaSource::StoredAs(id),
            },
        },
        ContentPart::Reasoning(reasoning) => {
            ExportPart::Reasoning { text: &reasoning.text, sealed: reasoning.is_provider_bound() }
        }
        ContentPart::ToolCall(call) => ExportPart::Call {
            id: call.id.as_deref(),
            name: &call.name,
            arguments: match call.is_free_text() {
                true => ExportJsonValue::Text(&call.arguments),
                false => ExportJsonValue::of(&call.arguments),
            },
        },
        ContentPart::ToolResult(result) => ExportPart::Answer {
            id: result.id.as_deref(),
            name: result.name.as_deref(),
            error: result.error,
            parts: result.parts.iter().map(part_entry).collect(),
        },
        ContentPart::Unknown(other) => {
            ExportPart::Other { name: &other.name, json: ExportJsonValue::of(&other.json) }
        }
    }
}
