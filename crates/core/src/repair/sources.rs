//! Where the content of a part comes from.

use std::{ops::Deref, sync::Arc};

use crate::{
    Span,
    draft::DraftAnswer,
    placeholder::{self, PlaceholderLanguage},
};

/// Where the content of a part comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartSource<'a> {
    /// From the input, at the part's span.
    Input,
    /// Generated text: a placeholder answer, a bridge, an empty field.
    Text(NewText),
    /// The content of an answer, quoted as text.
    Quote(QuotedAnswer<'a>),
    /// The media of an answer.
    Media(QuotedAnswer<'a>),
}

/// Text that is not in the input. Text of repairs is static and takes no memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewText {
    /// Static text of the repair.
    Fixed(&'static str),
    /// Text supplied by the caller, such as a summary.
    Supplied(Box<str>),
}

impl Deref for NewText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            NewText::Fixed(text) => text,
            NewText::Supplied(text) => text,
        }
    }
}

impl From<&'static str> for NewText {
    fn from(text: &'static str) -> NewText {
        NewText::Fixed(text)
    }
}

/// An answer whose content, or whose media, moved elsewhere. Its heading is generated only when it
/// is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotedAnswer<'a> {
    answer: Arc<DraftAnswer<'a>>,
    reason: QuoteReason,
    language: PlaceholderLanguage,
}

/// Why an answer is quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuoteReason {
    /// Its call is missing.
    NoCall,
    /// Its call has another answer.
    SecondAnswer,
    /// Its media has to move elsewhere.
    MediaMoved,
}

impl<'a> QuotedAnswer<'a> {
    pub(super) fn new(
        answer: Arc<DraftAnswer<'a>>,
        reason: QuoteReason,
        language: PlaceholderLanguage,
    ) -> QuotedAnswer<'a> {
        QuotedAnswer { answer, reason, language }
    }

    /// The heading before it.
    pub fn heading(&self) -> String {
        let short = |id: &str| -> String { id.chars().take(64).collect() };
        let id = self.answer.id.as_deref();
        let id_or_tool = id.or(self.answer.tool()).map(short);
        match self.reason {
            QuoteReason::NoCall => {
                placeholder::orphan_heading(id_or_tool.as_deref(), self.language)
            }
            QuoteReason::SecondAnswer => {
                placeholder::second_answer_heading(id_or_tool.as_deref(), self.language)
            }
            QuoteReason::MediaMoved => {
                placeholder::media_heading(id.map(short).as_deref(), self.language)
            }
        }
    }

    /// The position of its content, given that of the answer. Content in an unknown field is quoted
    /// with the whole answer.
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
    fn repaired_messages_stay_small() {
        assert!(size_of::<PartSource<'_>>() <= 24);
        assert!(size_of::<RepairedPart<'_>>() <= 40);
        assert!(size_of::<RepairedMessage<'_>>() <= 24);
    }
}
