//! What a document says, whatever its format: who said what, what was called, what was answered.
//!
//! Conversions are judged by it. Two documents say the same if these are equal, in this order:
//!
//! * **texts**, by side: instructions, the user, the assistant. Neighbours on one side are one text,
//!   joined by a line break, however many messages or parts they fill. White space at both ends, blank
//!   lines, and lines that the engine says itself ([`words`]) do not count. `system` and `developer`
//!   are one side. A document of plain text is its text, under its name.
//! * **media**, by what it holds: its bytes, its address, its id. What follows the heading "Media from
//!   the answer to tool call x" belongs to that answer.
//! * **calls**: id, name, and the arguments as a JSON value. Free text is the argument `input`; a
//!   built-in tool goes by the name of its kind. With a call stands its **answer**, wherever the document has
//!   it: text, media, mark of failure. An answer that is JSON is compared as JSON.
//! * **other things**: what only one format knows, as JSON.
//!
//! **Thoughts** are compared beside these, for each stretch between two words of the user: chat has
//! them in front of a message. Seals, marks for caching and citations are only counted.

mod words;
mod parts;
mod media;
mod declared;
mod scribe;
mod compare;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{matching::Matching, reading::Reading};
use crate::dialect::Dialect;

pub use compare::{Facet, difference, missing, unsaid};
pub use declared::declared;
pub use media::Media;

/// What a document says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gist {
    /// In order; each answer with its call.
    pub beats: Vec<Beat>,
    /// What the model reasoned, in order.
    pub thoughts: Vec<Thought>,
    /// Signatures of reasoning, calls and texts, and what is encrypted.
    pub seals: Vec<String>,
    /// Answers without a call.
    pub orphans: Vec<Answer>,
    /// It begins with instructions.
    pub leads: bool,
    /// Blocks that are marked for caching.
    pub cache_marks: usize,
    /// Texts that say where they come from.
    pub cited: usize,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Instructions, under any name.
    Instructions,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// One thing that is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    /// Words.
    Text {
        /// Whose.
        side: Side,
        /// Which.
        text: String,
        /// The model declines.
        refusal: bool,
    },
    /// An image, a file, a sound.
    Media {
        /// Whose.
        side: Side,
        /// Which.
        media: Media,
    },
    /// A call of the model.
    Call(Call),
    /// What only one format knows, as JSON.
    Other(String),
}

/// A call, and what came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// What the tool gets.
    pub arguments: Value,
    /// What it said, if it said anything.
    pub answer: Option<Answer>,
}

/// What came back from a tool.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The id of the call, if it names one. Which call it belongs to is known, so it says nothing.
    pub id: Option<String>,
    /// What it says.
    pub text: String,
    /// What it shows.
    pub media: Vec<Media>,
    /// Marked as a failure.
    pub error: bool,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        let says = |answer: &Answer| (answer.text.clone(), answer.error);
        says(self) == says(other) && self.media == other.media
    }
}

/// Something the model reasoned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// What can be read of it.
    pub text: String,
    /// Its signature, or what is encrypted.
    pub seal: Option<String>,
    /// How often the user had taken the word back before.
    pub stretch: usize,
}

/// Reads a document; an unknown dialect says nothing.
pub fn gist(dialect: &str, document: &Value) -> Gist {
    let Some(dialect) = Dialect::named(dialect) else { return Gist::default() };
    let reading = Reading::new(dialect, document);
    let matching = Matching::new(&reading);
    scribe::write(&reading, &matching)
}

impl Gist {
    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.beats.iter().filter_map(|beat| match beat {
            Beat::Call(call) => Some(call),
            Beat::Text { .. } | Beat::Media { .. } | Beat::Other(_) => None,
        })
    }

    /// Everything that is shown, in order, by messages and by answers.
    pub fn shown(&self) -> Vec<&Media> {
        let mut all = Vec::new();
        for beat in &self.beats {
            match beat {
                Beat::Media { media, .. } => all.push(media),
                Beat::Call(call) => all.extend(call.answer.iter().flat_map(|it| &it.media)),
                Beat::Text { .. } | Beat::Other(_) => {}
            }
        }
        // A second answer that says the same shows nothing new.
        let twin = |answer: &&Answer| {
            let mut answers = self.calls().filter_map(|call| call.answer.as_ref());
            answers.any(|other| other.text == answer.text)
        };
        let orphans = self.orphans.iter().filter(|answer| !twin(answer));
        all.extend(orphans.flat_map(|answer| &answer.media));
        all
    }
}

impl Beat {
    /// Who says it. What only one format knows is the model's, as a rule.
    pub(super) fn side(&self) -> Side {
        match self {
            Beat::Text { side, .. } | Beat::Media { side, .. } => *side,
            Beat::Call(_) | Beat::Other(_) => Side::Assistant,
        }
    }
}
