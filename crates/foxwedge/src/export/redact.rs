//! A conversation that can be shown: secrets, addresses and names of home folders are taken out.
//!
//! The same secret becomes the same mark everywhere, so that a reader can follow it. What is found
//! once is taken out wherever else it stands. Nobody can know every secret: this finds what has a
//! known form or a telling name, and nothing else.

mod find;
mod secret_tokens;
mod secret_names;
mod secret_values;
mod private_places;
mod json;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use foxwedge_formats::model::{
    ContentPart, MediaPart, MediaSource, ModelHistory, ModelMessage, ModelPart, ReasoningPart,
    ReasoningSignature, ToolCallPart, ToolResultPart, UnknownPart,
};

use super::{
    ExportHeader,
    export_turns::{describe_media, format_bytes},
};
use find::{PrivateMatch, find_private};

/// The title and the history without anything private. Media is left out.
pub(crate) fn redact(
    title: &ExportHeader,
    history: &ModelHistory<'_>,
) -> (ExportHeader, ModelHistory<'static>) {
    let mut redactor = SecretRedactor::default();
    // The first reading learns what is secret, the second takes it out everywhere.
    redactor.redact_all(title, history);
    redactor.redact_all(title, history)
}

/// What is known to be secret so far.
#[derive(Default)]
struct SecretRedactor {
    /// The number of each secret.
    numbers: HashMap<String, usize>,
    known: KnownSecrets,
}

/// Secrets by their first bytes.
#[derive(Default)]
struct KnownSecrets(HashMap<[u8; KnownSecrets::HEAD], Vec<String>>);

impl KnownSecrets {
    const HEAD: usize = 6;
    /// Shorter ones could be a part of anything.
    const SHORTEST: usize = 8;
    /// Secrets with the same beginning that are remembered.
    const MOST: usize = 16;

    fn learn(&mut self, secret: &str) {
        // A plain word may be a password, but it is a word all the same.
        let telling = secret.bytes().any(|byte| !byte.is_ascii_alphabetic());
        let Some(head) = secret.as_bytes().first_chunk().filter(|_| telling) else { return };
        let same = self.0.entry(*head).or_default();
        if secret.len() >= KnownSecrets::SHORTEST && same.len() < KnownSecrets::MOST {
            same.push(secret.to_owned());
        }
    }

    /// The length of a known secret that the text starts with.
    fn at_start(&self, text: &str) -> Option<usize> {
        let same = self.0.get(text.as_bytes().first_chunk()?)?;
        let ends = |secret: &&String| {
            let next = text.as_bytes().get(secret.len());
            text.starts_with(secret.as_str()) && next.is_none_or(|c| !c.is_ascii_alphanumeric())
        };
        same.iter().filter(ends).map(String::len).max()
    }
}

impl SecretRedactor {
    fn redact_all(
        &mut self,
        title: &ExportHeader,
        history: &ModelHistory<'_>,
    ) -> (ExportHeader, ModelHistory<'static>) {
        let title = ExportHeader {
            agent: self.redact_text(&title.agent),
            session: self.redact_text(&title.session),
            project: title.project.as_deref().map(|text| self.redact_text(text)),
            started: title.started.clone(),
            updated: title.updated.clone(),
            file: title.file.as_deref().map(|text| self.redact_text(text)),
            messages: title.messages,
            calls: title.calls,
            notes: title.notes.iter().map(|text| self.redact_text(text)).collect(),
        };
        let said = |said: &ModelMessage<'_>| {
            ModelMessage::new(
                said.role,
                said.parts.iter().map(|part| self.redact_part(part)).collect(),
            )
        };
        (title, ModelHistory { messages: history.messages.iter().map(said).collect() })
    }

    fn redact_part(&mut self, part: &ModelPart<'_>) -> ModelPart<'static> {
        ModelPart::new(match part.content() {
            ContentPart::Text(text) => ContentPart::Text(self.redact_text(text).into()),
            ContentPart::Media(media) => ContentPart::Text(self.redact_media(media).into()),
            ContentPart::Reasoning(reasoning) => ContentPart::Reasoning(ReasoningPart {
                text: self.redact_text(&reasoning.text).into(),
                // That it was sealed is all that is told of a seal.
                signature: match reasoning.is_provider_bound() {
                    true => ReasoningSignature::Redacted("".into()),
                    false => ReasoningSignature::Unsigned,
                },
            }),
            ContentPart::ToolCall(call) => ContentPart::ToolCall(ToolCallPart {
                id: call.id.as_deref().map(|id| self.redact_text(id).into()),
                name: self.redact_text(&call.name).into(),
                family: call.family,
                arguments: self.redact_arguments(call).into(),
                signature: None,
            }),
            ContentPart::ToolResult(answer) => ContentPart::ToolResult(ToolResultPart {
                id: answer.id.as_deref().map(|id| self.redact_text(id).into()),
                name: answer.name.as_deref().map(|name| self.redact_text(name).into()),
                family: answer.family,
                parts: answer.parts.iter().map(|part| self.redact_part(part)).collect(),
                error: answer.error,
            }),
            ContentPart::Unknown(other) => ContentPart::Unknown(UnknownPart {
                name: self.redact_text(&other.name).into(),
                json: self.redact_json(&other.json).into(),
            }),
        })
    }

    fn redact_arguments(&mut self, call: &ToolCallPart<'_>) -> String {
        if call.is_free_text() {
            self.redact_text(&call.arguments)
        } else {
            self.redact_json(&call.arguments)
        }
    }

    /// What is said in the place of media.
    fn redact_media(&mut self, media: &MediaPart<'_>) -> String {
        let told = match &media.source {
            MediaSource::Data(_) | MediaSource::Text(_) => describe_media(media),
            MediaSource::Url(url) => {
                format!("{}, at an address of {}", media.kind.name(), format_bytes(url.len()))
            }
            MediaSource::Stored { .. } => format!("{}, stored by the provider", media.kind.name()),
        };
        let told = self.redact_text(&told);
        format!("[left out: {told}]")
    }

    /// A text without its secrets.
    fn redact_text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for PrivateMatch { range, is_home_folder: home } in find_private(text, &self.known) {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            let found = text.get(range.clone()).unwrap_or_default();
            if home {
                out.push('~');
            } else {
                out.push_str(&self.secret_mark(found));
            }
            at = range.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// The mark of a secret.
    fn secret_mark(&mut self, secret: &str) -> String {
        let next = self.numbers.len() + 1;
        let number = match self.numbers.get(secret) {
            Some(number) => *number,
            None => {
                self.known.learn(secret);
                self.numbers.insert(secret.to_owned(), next);
                next
            }
        };
        format!("[redacted:{number}]")
    }
}
