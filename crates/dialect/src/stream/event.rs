//! What happens in an answer that comes in pieces, in the terms of no format.
//!
//! Readers tell what their format says, in its order and under its own numbers. `Order` makes of
//! that what every writer may rely on: the answer begins first and once; blocks are numbered from
//! zero, stand one behind the other and are never open together; every call has a name and an id
//! that the target takes; a block is closed unless the answer was cut off inside it; after the end,
//! a failure or a cut there is nothing.

use foxwedge_core::CallFamily;

use crate::model::{JsonText, ProviderError, StopReason, TextCitation, TokenUsage};

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamEvent<'f> {
    /// The answer begins. May come again with more that is known.
    Start(ReplyHead<'f>),
    /// A block begins.
    Open {
        /// Its number.
        block: u32,
        /// What it is.
        kind: BlockStart<'f>,
    },
    /// A block goes on.
    Delta {
        /// Its number.
        block: u32,
        /// How.
        delta: BlockDelta<'f>,
    },
    /// A block is whole.
    Close {
        /// Its number.
        block: u32,
    },
    /// Figures; later ones replace earlier ones.
    Usage(TokenUsage),
    /// The model has stopped. Figures may still follow.
    Stop(StopReason<'f>),
    /// The provider said that this is all.
    End,
    /// The provider failed.
    Failed(ProviderError<'f>),
    /// The bytes ended before the answer did.
    Truncated,
}

/// What is known when an answer begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplyHead<'f> {
    /// The provider's name for the answer.
    pub id: Option<JsonText<'f>>,
    /// The model that speaks.
    pub model: Option<JsonText<'f>>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
}

/// What a block is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockStart<'f> {
    /// Text.
    Text,
    /// The text of a refusal.
    Refusal,
    /// Reasoning that can be read.
    Reasoning,
    /// Reasoning that cannot be read, all of it: Anthropic's redacted data.
    Redacted(JsonText<'f>),
    /// A call that the client answers. Its pieces are its arguments.
    Call {
        /// Its id, if it has one.
        id: Option<JsonText<'f>>,
        /// The tool's name.
        name: JsonText<'f>,
        /// Free text or JSON.
        family: CallFamily,
        /// Gemini's signature of the reasoning behind it.
        signature: Option<JsonText<'f>>,
    },
}

/// How a block goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockDelta<'f> {
    /// More text; of a call, more of its arguments.
    Text(JsonText<'f>),
    /// The signature of reasoning.
    Signature(JsonText<'f>),
    /// The encrypted form of reasoning.
    Encrypted(JsonText<'f>),
    /// Where the text comes from.
    Citation(TextCitation<'f>),
}

/// Takes what happens.
pub(crate) trait EventSink {
    /// Something happens.
    fn event(&mut self, event: StreamEvent<'_>);
    /// The reader met something that nobody can use, and went on.
    fn skip(&mut self, note: StreamLoss);
}

/// Something in a stream that was left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamLoss {
    /// What it is.
    pub kind: crate::model::LossKind,
    /// One sentence about it.
    pub note: String,
}
