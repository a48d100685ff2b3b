//! Versions of messages in files of agents that rewrite messages (Gemini CLI).

use foxwedge_core::Span;

/// One version of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct GeminiMessageVersion<'a> {
    pub(super) id: &'a str,
    /// The record that is or contains this version.
    pub(super) record: u32,
    pub(super) span: Span,
    /// The range of its messages in the fragments: a reply and its results, or a user message.
    pub(super) first: u32,
    pub(super) last: u32,
    /// The record and the span of the version that gave the message its position.
    pub(super) first_version: (u32, Span),
}

/// How a record changes the messages before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum GeminiHistoryStep<'a> {
    /// They are replaced by the messages of the record.
    Reset,
    /// They are removed from this one on.
    Rewind(&'a str),
}
