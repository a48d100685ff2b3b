//! Token counts of the messages of a draft.
//!
//! Counting needs vocabularies and a JSON parser; both are in other crates. This module has the
//! interface of a counter, and the counts that strategies use.

use std::ops::Range;

/// Counts the tokens of a draft, text by text.
pub trait TokenCounter {
    /// Tokens of a text, as the model would read it (no JSON escapes).
    fn count_text(&mut self, text: &str) -> u32;

    /// Tokens of an image, a file or audio; `data` is its base64 data or its URL.
    fn count_media(&mut self, data: &str) -> u32;

    /// Whether it counts with the model's own vocabulary; otherwise it estimates.
    fn is_exact(&self) -> bool;
}

/// Tokens by message and by part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TokenWeights {
    /// Tokens of each message, including its overhead.
    messages: Vec<u32>,
    /// Tokens of each part.
    parts: Vec<u32>,
    /// Tokens of media in each part; at most those of the part.
    media: Vec<u32>,
    /// Tokens before each message, and of all messages at the end.
    cumulative: Vec<u64>,
    /// Tokens outside the list: instructions, tools.
    pub overhead: u64,
    /// Whether they were counted with the model's own vocabulary.
    pub exact: bool,
}

impl TokenWeights {
    /// Starts without any message.
    pub fn new(overhead: u64, exact: bool) -> TokenWeights {
        TokenWeights { cumulative: vec![0], overhead, exact, ..TokenWeights::default() }
    }

    /// Adds a part of the current message.
    pub fn push_part(&mut self, tokens: u32, media: u32) {
        self.parts.push(tokens);
        self.media.push(media.min(tokens));
    }

    /// Completes a message with the tokens of its parts and its overhead.
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

    /// The number of counted messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether no message was counted.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}
