//! Redacts a conversation: removes secrets, addresses and the names of home folders.
//!
//! The same secret gets the same mark everywhere, so that a reader can follow it. A secret that is
//! found once is removed everywhere. Only secrets with a known form or a known name are found.

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

/// Returns the header and the history without private data. Media is left out.
pub fn redact(
    header: &ExportHeader,
    history: &ModelHistory<'_>,
) -> (ExportHeader, ModelHistory<'static>) {
    let mut redactor = SecretRedactor::default();
    // The first pass collects the secrets, the second removes them everywhere.
    redactor.redact_all(header, history);
    redactor.redact_all(header, history)
}

/// The secrets found so far.
#[derive(Default)]
struct SecretRedactor {
    /// The number of each secret.
    numbers: HashMap<String, usize>,
    known: KnownSecrets,
}

/// Secrets, indexed by their first bytes.
#[derive(Default)]
struct KnownSecrets(HashMap<[u8; KnownSecrets::HEAD], Vec<String>>);

impl KnownSecrets {
    const HEAD: usize = 6;
    /// Min length: a shorter secret could be part of any text.
    const MIN_LENGTH: usize = 8;
    /// Max secrets with the same first bytes.
    const MAX_SECRETS: usize = 16;

    fn learn(&mut self, secret: &str) {
        // A plain word may be a password, but it also occurs in ordinary text.
        let is_distinctive = secret.bytes().any(|byte| !byte.is_ascii_alphabetic());
        let Some(head) = secret.as_bytes().first_chunk().filter(|_| is_distinctive) else { return };
        let same = self.0.entry(*head).or_default();
        if secret.len() >= KnownSecrets::MIN_LENGTH && same.len() < KnownSecrets::MAX_SECRETS {
            same.push(secret.to_owned());
        }
    }

    /// The length of a known secret that the text starts with.
    fn at_start(&self, text: &str) -> Option<usize> {
        let same = self.0.get(text.as_bytes().first_chunk()?)?;
        let matches = |secret: &&String| {
            let next = text.as_bytes().get(secret.len());
            text.starts_with(secret.as_str()) && next.is_none_or(|c| !c.is_ascii_alphanumeric())
        };
        same.iter().filter(matches).map(String::len).max()
    }
}

impl SecretRedactor {
    fn redact_all(
        &mut self,
        header: &ExportHeader,
        history: &ModelHistory<'_>,
    ) -> (ExportHeader, ModelHistory<'static>) {
        let header = ExportHeader {
            agent: self.redact_text(&header.agent),
            session: self.redact_text(&header.session),
            title: header.title.as_deref().map(|text| self.redact_text(text)),
            project: header.project.as_deref().map(|text| self.redact_text(text)),
            started: header.started.clone(),
            updated: header.updated.clone(),
            file: header.file.as_deref().map(|text| self.redact_text(text)),
            messages: header.messages,
            calls: header.calls,
            notes: header.notes.iter().map(|text| self.redact_text(text)).collect(),
        };
        let redact_message = |message: &ModelMessage<'_>| {
            ModelMessage::new(
                message.role,
                message.parts.iter().map(|part| self.redact_part(part)).collect(),
            )
        };
        (header, ModelHistory { messages: history.messages.iter().map(redact_message).collect() })
    }

    fn redact_part(&mut self, part: &ModelPart<'_>) -> ModelPart<'static> {
        ModelPart::new(match part.content() {
            ContentPart::Text(text) => ContentPart::Text(self.redact_text(text).into()),
            ContentPart::Media(media) => ContentPart::Text(self.redact_media(media).into()),
            ContentPart::Reasoning(reasoning) => ContentPart::Reasoning(ReasoningPart {
                text: self.redact_text(&reasoning.text).into(),
                // Only the fact that there is a signature is kept.
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
            ContentPart::ToolResult(result) => ContentPart::ToolResult(ToolResultPart {
                id: result.id.as_deref().map(|id| self.redact_text(id).into()),
                name: result.name.as_deref().map(|name| self.redact_text(name).into()),
                family: result.family,
                parts: result.parts.iter().map(|part| self.redact_part(part)).collect(),
                error: result.error,
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

    /// The text that replaces media.
    fn redact_media(&mut self, media: &MediaPart<'_>) -> String {
        let description = match &media.source {
            MediaSource::Data(_) | MediaSource::Text(_) => describe_media(media),
            MediaSource::Url(url) => {
                format!("{}, at a URL of {}", media.kind.name(), format_bytes(url.len()))
            }
            MediaSource::Stored { .. } => format!("{}, stored by the provider", media.kind.name()),
        };
        let description = self.redact_text(&description);
        format!("[left out: {description}]")
    }

    /// Removes the secrets of a text.
    fn redact_text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for PrivateMatch { range, is_home_folder } in find_private(text, &self.known) {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            let secret = text.get(range.clone()).unwrap_or_default();
            if is_home_folder {
                out.push('~');
            } else {
                out.push_str(&self.secret_mark(secret));
            }
            at = range.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// The mark that replaces a secret.
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
