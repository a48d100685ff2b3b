//! A conversation that can be shown: secrets, addresses and names of home folders are taken out.
//!
//! The same secret becomes the same mark everywhere, so that a reader can follow it. What is found
//! once is taken out wherever else it stands. Nobody can know every secret: this finds what has a
//! known form or a telling name, and nothing else.

mod find;
mod keys;
mod named;
mod value;
mod places;
mod json;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use foxwedge_dialect::canon::{
    Answer, Bit, Call, History, Media, Other, Part, Reasoning, Said, Seal, Source,
};

use super::{
    Title,
    scene::{bytes, described},
};
use find::{Hit, find};

/// The title and the history without anything private. Media is left out.
pub(crate) fn redact(title: &Title, history: &History<'_>) -> (Title, History<'static>) {
    let mut redactor = Redactor::default();
    // The first reading learns what is secret, the second takes it out everywhere.
    redactor.all(title, history);
    redactor.all(title, history)
}

/// What is known to be secret so far.
#[derive(Default)]
struct Redactor {
    /// The number of each secret.
    numbers: HashMap<String, usize>,
    known: Known,
}

/// Secrets by their first bytes.
#[derive(Default)]
struct Known(HashMap<[u8; Known::HEAD], Vec<String>>);

impl Known {
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
        if secret.len() >= Known::SHORTEST && same.len() < Known::MOST {
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

impl Redactor {
    fn all(&mut self, title: &Title, history: &History<'_>) -> (Title, History<'static>) {
        let title = Title {
            agent: self.text(&title.agent),
            session: self.text(&title.session),
            project: title.project.as_deref().map(|text| self.text(text)),
            started: title.started.clone(),
            updated: title.updated.clone(),
            file: title.file.as_deref().map(|text| self.text(text)),
            messages: title.messages,
            calls: title.calls,
            notes: title.notes.iter().map(|text| self.text(text)).collect(),
        };
        let said = |said: &Said<'_>| {
            Said::new(said.role, said.parts.iter().map(|part| self.part(part)).collect())
        };
        (title, History { messages: history.messages.iter().map(said).collect() })
    }

    fn part(&mut self, part: &Part<'_>) -> Part<'static> {
        Part::new(match part.bit() {
            Bit::Text(text) => Bit::Text(self.text(text).into()),
            Bit::Media(media) => Bit::Text(self.media(media).into()),
            Bit::Reasoning(reasoning) => Bit::Reasoning(Reasoning {
                text: self.text(&reasoning.text).into(),
                // That it was sealed is all that is told of a seal.
                seal: match reasoning.is_sealed() {
                    true => Seal::Redacted("".into()),
                    false => Seal::Open,
                },
            }),
            Bit::Call(call) => Bit::Call(Call {
                id: call.id.as_deref().map(|id| self.text(id).into()),
                name: self.text(&call.name).into(),
                family: call.family,
                arguments: self.arguments(call).into(),
                signature: None,
            }),
            Bit::Answer(answer) => Bit::Answer(Answer {
                id: answer.id.as_deref().map(|id| self.text(id).into()),
                name: answer.name.as_deref().map(|name| self.text(name).into()),
                family: answer.family,
                parts: answer.parts.iter().map(|part| self.part(part)).collect(),
                error: answer.error,
            }),
            Bit::Other(other) => Bit::Other(Other {
                name: self.text(&other.name).into(),
                json: self.json(&other.json).into(),
            }),
        })
    }

    fn arguments(&mut self, call: &Call<'_>) -> String {
        if call.is_free_text() { self.text(&call.arguments) } else { self.json(&call.arguments) }
    }

    /// What is said in the place of media.
    fn media(&mut self, media: &Media<'_>) -> String {
        let told = match &media.source {
            Source::Data(_) | Source::Text(_) => described(media),
            Source::Url(url) => {
                format!("{}, at an address of {}", media.kind.name(), bytes(url.len()))
            }
            Source::Stored { .. } => format!("{}, stored by the provider", media.kind.name()),
        };
        let told = self.text(&told);
        format!("[left out: {told}]")
    }

    /// A text without its secrets.
    fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for Hit { range, home } in find(text, &self.known) {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            let found = text.get(range.clone()).unwrap_or_default();
            if home {
                out.push('~');
            } else {
                out.push_str(&self.mark(found));
            }
            at = range.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// The mark of a secret.
    fn mark(&mut self, secret: &str) -> String {
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
