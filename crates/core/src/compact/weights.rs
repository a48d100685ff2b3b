//! How many tokens each message of a draft takes, as data.
//!
//! Counting needs vocabularies and a reader of JSON; both live elsewhere. Here are the two ends of
//! the wire: what a counter has to answer, and what strategies are given.

use std::ops::Range;

/// Counts tokens. Whoever counts a draft asks it text by text.
pub trait TokenCounter {
    /// Tokens of a text, as the model would read it (no JSON escapes).
    fn count_text(&mut self, text: &str) -> u32;

    /// Tokens of an image, a file or a sound; `data` is what stands for it: base64, or an address.
    fn count_media(&mut self, data: &str) -> u32;

    /// Whether it counts with the model's own vocabulary, or estimates.
    fn is_exact(&self) -> bool;
}

/// Tokens by message and by part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TokenWeights {
    /// Tokens of each message, its frame included.
    messages: Vec<u32>,
    /// Tokens of each part.
    parts: Vec<u32>,
    /// Tokens of media in each part; at most those of the part.
    media: Vec<u32>,
    /// Tokens in front of each message, and of all messages at the end.
    cumulative: Vec<u64>,
    /// Tokens of what stands around the list: instructions, tools.
    pub overhead: u64,
    /// Whether they were counted with the model's own vocabulary.
    pub exact: bool,
}

impl TokenWeights {
    /// Starts without any message.
    pub fn new(around: u64, exact: bool) -> TokenWeights {
        TokenWeights { cumulative: vec![0], overhead: around, exact, ..TokenWeights::default() }
    }

    /// Adds a part of the message that is being counted.
    pub fn push_part(&mut self, tokens: u32, media: u32) {
        self.parts.push(tokens);
        self.media.push(media.min(tokens));
    }

    /// Ends a message: the tokens of its parts and its frame.
    pub fn push_message(&mut self, tokens: u32) {
        self.messages.push(tokens);
        let before = self.cumulative.last().copied().unwrap_or(0);
        self.cumulative.push(before + u64::from(tokens));
    }

    /// Tokens of one message.
    pub fn of_message(&self, message: usize) -> u64 {
        self.messages.get(message).copied().unwrap_or(0).into()
    }

    /// Tokens of one part.
    pub fn of_part(&self, part: usize) -> u64 {
        self.parts.get(part).copied().unwrap_or(0).into()
    }

    /// Tokens of the media in one part.
    pub fn of_media(&self, part: usize) -> u64 {
        self.media.get(part).copied().unwrap_or(0).into()
    }

    /// Tokens of a range of messages.
    pub fn of(&self, messages: Range<usize>) -> u64 {
        let at = |index: usize| {
            self.cumulative.get(index).or(self.cumulative.last()).copied().unwrap_or(0)
        };
        at(messages.end).saturating_sub(at(messages.start))
    }

    /// Tokens of everything.
    pub fn total(&self) -> u64 {
        self.overhead + self.cumulative.last().copied().unwrap_or(0)
    }

    /// How many messages were counted.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether no message was counted.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}
