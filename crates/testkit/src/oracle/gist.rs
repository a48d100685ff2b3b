//! The content of a document, independent of its format: texts by role, calls, results.
//!
//! Conversions are judged by it. Two documents have the same content if these are equal, in this
//! order:
//!
//! * **texts**, by side: instructions, the user, the assistant. Adjacent texts of one side are one
//!   text, joined by a line break, regardless of messages and parts. White space at both ends,
//!   blank lines, and lines that the engine writes ([`words`]) do not count. `system` and
//!   `developer` are one side. A plain-text document is its text, under its name.
//! * **media**, by its bytes, its URL or its id. What follows the heading "Media from the answer to
//!   tool call x" belongs to that result.
//! * **calls**: id, name, and the arguments as a JSON value. Free text is the argument `input`; a
//!   built-in tool has the name of its type. A call includes its **result**, wherever it is in the
//!   document: text, media, error mark. A result that is JSON is compared as JSON.
//! * **other elements** that only one format has, as JSON.
//!
//! **Reasoning** is compared separately, for each stretch between two user texts, because Chat puts
//! it before a message. Seals, cache marks and citations are only counted.

mod words;
mod parts;
mod media;
mod declared;
mod scribe;
mod compare;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{matching::CallMatching, reading::DocumentReading};
use crate::dialect::TestFormat;

pub use compare::{GistFacet, difference, missing, unsaid};
pub use declared::declared;
pub use media::GistMedia;

/// The content of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentGist {
    /// The elements in order; each result is with its call.
    pub beats: Vec<Beat>,
    /// Reasoning, in order.
    pub thoughts: Vec<GistThought>,
    /// Signatures of reasoning, calls and texts, and encrypted reasoning.
    pub seals: Vec<String>,
    /// Results without a call.
    pub orphans: Vec<GistResult>,
    /// Whether it begins with instructions.
    pub leads: bool,
    /// Number of cache marks.
    pub cache_marks: usize,
    /// Number of texts with citations.
    pub cited: usize,
}

/// The side of the conversation that an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GistSide {
    /// Instructions, under any role name.
    Instructions,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// One element of the content.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    /// Text.
    Text {
        /// The side that it belongs to.
        side: GistSide,
        /// The text.
        text: String,
        /// Whether the text is a refusal.
        refusal: bool,
    },
    /// An image, a file or audio.
    Media {
        /// The side that it belongs to.
        side: GistSide,
        /// The media.
        media: GistMedia,
    },
    /// A tool call.
    Call(GistCall),
    /// An element that only one format has, as JSON.
    Other(String),
}

/// A call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct GistCall {
    /// Id of the call.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as a JSON value.
    pub arguments: Value,
    /// The result, if there is one.
    pub answer: Option<GistResult>,
}

/// A tool result.
#[derive(Clone, Debug, Default)]
pub struct GistResult {
    /// The id of the call, if it names one. It is not compared, because the call is known.
    pub id: Option<String>,
    pub text: String,
    pub media: Vec<GistMedia>,
    /// Whether it is marked as an error.
    pub error: bool,
}

impl PartialEq for GistResult {
    fn eq(&self, other: &GistResult) -> bool {
        let says = |answer: &GistResult| (answer.text.clone(), answer.error);
        says(self) == says(other) && self.media == other.media
    }
}

/// Reasoning of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GistThought {
    /// The readable text.
    pub text: String,
    /// The signature, or the encrypted reasoning.
    pub seal: Option<String>,
    /// Number of user texts before it.
    pub stretch: usize,
}

/// Reads a document; an unknown format has no content.
pub fn gist(format: &str, document: &Value) -> DocumentGist {
    let Some(format) = TestFormat::named(format) else { return DocumentGist::default() };
    let reading = DocumentReading::new(format, document);
    let matching = CallMatching::new(&reading);
    scribe::write(&reading, &matching)
}

impl DocumentGist {
    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &GistCall> {
        self.beats.iter().filter_map(|beat| match beat {
            Beat::Call(call) => Some(call),
            Beat::Text { .. } | Beat::Media { .. } | Beat::Other(_) => None,
        })
    }

    /// All media in order, from messages and from results.
    pub fn shown(&self) -> Vec<&GistMedia> {
        let mut all = Vec::new();
        for beat in &self.beats {
            match beat {
                Beat::Media { media, .. } => all.push(media),
                Beat::Call(call) => all.extend(call.answer.iter().flat_map(|it| &it.media)),
                Beat::Text { .. } | Beat::Other(_) => {}
            }
        }
        // A second result with the same content adds no media.
        let twin = |answer: &&GistResult| {
            let mut answers = self.calls().filter_map(|call| call.answer.as_ref());
            answers.any(|other| other.text == answer.text)
        };
        let orphans = self.orphans.iter().filter(|answer| !twin(answer));
        all.extend(orphans.flat_map(|answer| &answer.media));
        all
    }
}

impl Beat {
    /// The side of an element. Elements that only one format has count as the model's.
    pub(super) fn side(&self) -> GistSide {
        match self {
            Beat::Text { side, .. } | Beat::Media { side, .. } => *side,
            Beat::Call(_) | Beat::Other(_) => GistSide::Assistant,
        }
    }
}
