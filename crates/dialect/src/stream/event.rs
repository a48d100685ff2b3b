//! What happens in an answer that comes in pieces, in the terms of no format.
//!
//! Readers tell what their format says, in its order and under its own numbers. `Order` makes of
//! that what every writer may rely on: the answer begins first and once; blocks are numbered from
//! zero, stand one behind the other and are never open together; every call has a name and an id
//! that the target takes; a block is closed unless the answer was cut off inside it; after the end,
//! a failure or a cut there is nothing.

use foxwedge_core::Family;

use crate::canon::{Citation, Failure, Stop, Usage, Words};

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'f> {
    /// The answer begins. May come again with more that is known.
    Start(Head<'f>),
    /// A block begins.
    Open {
        /// Its number.
        block: u32,
        /// What it is.
        kind: Opened<'f>,
    },
    /// A block goes on.
    More {
        /// Its number.
        block: u32,
        /// How.
        piece: Piece<'f>,
    },
    /// A block is whole.
    Close {
        /// Its number.
        block: u32,
    },
    /// Figures; later ones replace earlier ones.
    Usage(Usage),
    /// The model has stopped. Figures may still follow.
    Stop(Stop<'f>),
    /// The provider said that this is all.
    End,
    /// The provider failed.
    Failed(Failure<'f>),
    /// The bytes ended before the answer did.
    Cut,
}

/// What is known when an answer begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Head<'f> {
    /// The provider's name for the answer.
    pub id: Option<Words<'f>>,
    /// The model that speaks.
    pub model: Option<Words<'f>>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
}

/// What a block is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opened<'f> {
    /// Text.
    Text,
    /// The text of a refusal.
    Refusal,
    /// Reasoning that can be read.
    Reasoning,
    /// Reasoning that cannot be read, all of it: Anthropic's redacted data.
    Redacted(Words<'f>),
    /// A call that the client answers. Its pieces are its arguments.
    Call {
        /// Its id, if it has one.
        id: Option<Words<'f>>,
        /// The tool's name.
        name: Words<'f>,
        /// Free text or JSON.
        family: Family,
        /// Gemini's signature of the reasoning behind it.
        signature: Option<Words<'f>>,
    },
}

/// How a block goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece<'f> {
    /// More text; of a call, more of its arguments.
    Text(Words<'f>),
    /// The signature of reasoning.
    Signature(Words<'f>),
    /// The encrypted form of reasoning.
    Encrypted(Words<'f>),
    /// Where the text comes from.
    Citation(Citation<'f>),
}

/// Takes what happens.
pub(crate) trait Sink {
    /// Something happens.
    fn event(&mut self, event: Event<'_>);
    /// The reader met something that nobody can use, and went on.
    fn skip(&mut self, note: Skipped);
}

/// Something in a stream that was left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// What it is.
    pub what: crate::canon::Lost,
    /// One sentence about it.
    pub note: String,
}
