//! A conversation for programs. Field names are a promise.

use foxwedge_dialect::canon::{Bit, History, Part, Said, Source, Speaker};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Title;

/// The whole document, with a line break at its end.
pub(crate) fn json(title: &Title, history: &History<'_>) -> String {
    let session = Session {
        agent: &title.agent,
        id: &title.session,
        project: title.project.as_deref(),
        started: title.started.as_deref(),
        updated: title.updated.as_deref(),
        file: title.file.as_deref(),
        messages: title.messages,
        calls: title.calls,
        notes: &title.notes,
    };
    let messages = history.messages.iter().map(Message::of).collect();
    let document = Document { version: 1, session, messages };
    // Strings and lists only: nothing here can fail.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'h> {
    version: u32,
    session: Session<'h>,
    messages: Vec<Message<'h>>,
}

#[derive(Serialize)]
struct Session<'h> {
    agent: &'h str,
    id: &'h str,
    project: Option<&'h str>,
    started: Option<&'h str>,
    updated: Option<&'h str>,
    file: Option<&'h str>,
    messages: usize,
    calls: usize,
    notes: &'h [String],
}

#[derive(Serialize)]
struct Message<'h> {
    role: &'static str,
    parts: Vec<Piece<'h>>,
}

impl<'h> Message<'h> {
    fn of(said: &'h Said<'_>) -> Message<'h> {
        let role = match said.role {
            Speaker::System => "system",
            Speaker::Developer => "developer",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        Message { role, parts: said.parts.iter().map(piece).collect() }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'h> {
    Text {
        text: &'h str,
    },
    Media {
        kind: &'static str,
        media_type: Option<&'h str>,
        name: Option<&'h str>,
        #[serde(flatten)]
        source: Place<'h>,
    },
    Reasoning {
        text: &'h str,
        sealed: bool,
    },
    Call {
        id: Option<&'h str>,
        name: &'h str,
        arguments: Json<'h>,
    },
    Answer {
        id: Option<&'h str>,
        name: Option<&'h str>,
        error: bool,
        parts: Vec<Piece<'h>>,
    },
    Other {
        name: &'h str,
        json: Json<'h>,
    },
}

/// Where media is.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Place<'h> {
    Base64(&'h str),
    Text(&'h str),
    Url(&'h str),
    StoredAs(&'h str),
}

/// A value as it was spelled, or a string if it is no JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Json<'h> {
    Value(&'h RawValue),
    Text(&'h str),
}

impl<'h> Json<'h> {
    fn of(text: &'h str) -> Json<'h> {
        serde_json::from_str(text).map_or(Json::Text(text), Json::Value)
    }
}

fn piece<'h>(part: &'h Part<'_>) -> Piece<'h> {
    match part.bit() {
        Bit::Text(text) => Piece::Text { text },
        Bit::Media(media) => Piece::Media {
            kind: media.kind.name(),
            media_type: media.media_type.as_deref(),
            name: media.name.as_deref(),
            source: match &media.source {
                Source::Data(data) => Place::Base64(data),
                Source::Text(text) => Place::Text(text),
                Source::Url(url) => Place::Url(url),
                Source::Stored { id, .. } => Place::StoredAs(id),
            },
        },
        Bit::Reasoning(reasoning) => {
            Piece::Reasoning { text: &reasoning.text, sealed: reasoning.is_sealed() }
        }
        Bit::Call(call) => Piece::Call {
            id: call.id.as_deref(),
            name: &call.name,
            arguments: match call.is_free_text() {
                true => Json::Text(&call.arguments),
                false => Json::of(&call.arguments),
            },
        },
        Bit::Answer(answer) => Piece::Answer {
            id: answer.id.as_deref(),
            name: answer.name.as_deref(),
            error: answer.error,
            parts: answer.parts.iter().map(piece).collect(),
        },
        Bit::Other(other) => Piece::Other { name: &other.name, json: Json::of(&other.json) },
    }
}
