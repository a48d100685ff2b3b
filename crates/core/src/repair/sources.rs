//! Where the content of a piece comes from.

use std::{ops::Deref, sync::Arc};

use crate::{
    draft::DraftAnswer,
    placeholder::{self, PlaceholderLanguage},
    span::Span,
};

/// Where the content of a piece comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartSource<'a> {
    /// From the input, at the part's span.
    Input,
    /// Invented words: a placeholder answer, a bridge, an empty field.
    Text(NewText),
    /// The content of an answer, told as text.
    Quote(QuotedAnswer<'a>),
    /// The media of an answer.
    Media(QuotedAnswer<'a>),
}

/// Words that are not in the input. Those that a repair writes are always the same, and take no room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewText {
    /// Words of the repair itself.
    Fixed(&'static str),
    /// Words of somebody else, such as a summary.
    Supplied(Box<str>),
}

impl Deref for NewText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            NewText::Fixed(words) => words,
            NewText::Supplied(words) => words,
        }
    }
}

impl From<&'static str> for NewText {
    fn from(words: &'static str) -> NewText {
        NewText::Fixed(words)
    }
}

/// An answer whose content, or whose media, stands somewhere else now. What is said before it is
/// put into words only when it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotedAnswer<'a> {
    answer: Arc<DraftAnswer<'a>>,
    reason: QuoteReason,
    language: PlaceholderLanguage,
}

/// Why an answer is quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuoteReason {
    /// Its call is not there.
    NoCall,
    /// Its call has another answer.
    SecondAnswer,
    /// Its media has to stand elsewhere.
    MediaMoved,
}

impl<'a> QuotedAnswer<'a> {
    pub(super) fn new(
        answer: Arc<DraftAnswer<'a>>,
        why: QuoteReason,
        language: PlaceholderLanguage,
    ) -> QuotedAnswer<'a> {
        QuotedAnswer { answer, reason: why, language }
    }

    /// What is said before it.
    pub fn heading(&self) -> String {
        let short = |id: &str| -> String { id.chars().take(64).collect() };
        let id = self.answer.id.as_deref();
        let known = id.or(self.answer.tool()).map(short);
        match self.reason {
            QuoteReason::NoCall => placeholder::orphan_heading(known.as_deref(), self.language),
            QuoteReason::SecondAnswer => {
                placeholder::second_answer_heading(known.as_deref(), self.language)
            }
            QuoteReason::MediaMoved => {
                placeholder::media_heading(id.map(short).as_deref(), self.language)
            }
        }
    }

    /// Where its content lies, given where the answer lies: content under a name we do not know is
    /// told with the whole answer.
    pub fn content(&self, answer: Span) -> Span {
        match self.reason {
            QuoteReason::MediaMoved => self.answer.content,
            _ if self.answer.content.is_empty() => answer,
            _ => self.answer.content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{RepairedMessage, RepairedPart},
        *,
    };

    #[test]
    fn what_becomes_of_a_message_stays_small() {
        assert!(size_of::<PartSource<'_>>() <= 24);
        assert!(size_of::<RepairedPart<'_>>() <= 64);
        assert!(size_of::<RepairedMessage<'_>>() <= 48);
    }
}
