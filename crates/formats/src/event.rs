//! Events of a streamed reply, independent of any format.
//!
//! Readers emit events in the order of their format, with their own block numbers. The sequencer
//! turns them into what every writer relies on: the reply starts first and once; blocks are
//! numbered from zero, follow each other and are never open together; every call has a name and an
//! id that the target accepts; a block is closed unless the reply was cut off inside it; nothing
//! follows an end, a failure or a truncation.

pub(crate) mod emitter;
pub(crate) mod fields;
pub(crate) mod held_citations;
pub(crate) mod indexed_blocks;
pub(crate) mod json_writer;
pub(crate) mod loss_notes;
pub(crate) mod owned;
pub(crate) mod reply_end;

use foxwedge_core::{CallFamily, Format};

use crate::conversation::{JsonText, ProviderError, StopReason, TextCitation, TokenUsage};

/// An event of a streamed reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamEvent<'f> {
    /// The reply starts. A reader may repeat it when more is known.
    Start(ReplyHead<'f>),
    /// A block starts.
    Open {
        /// The block number.
        block: u32,
        /// Its kind and fields.
        kind: BlockStart<'f>,
    },
    /// A block continues.
    Delta {
        /// The block number.
        block: u32,
        /// What is added.
        delta: BlockDelta<'f>,
    },
    /// A block is complete.
    Close {
        /// The block number.
        block: u32,
    },
    /// Token usage. Later values replace earlier ones.
    Usage(TokenUsage),
    /// The model stopped. Usage may still follow.
    Stop(StopReason<'f>),
    /// The provider marked the reply as complete.
    End,
    /// The provider failed.
    Failed(ProviderError<'f>),
    /// The bytes ended before the reply did.
    Truncated,
}

/// Metadata at the start of a reply.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplyHead<'f> {
    /// The provider's id of the reply.
    pub id: Option<JsonText<'f>>,
    /// The model.
    pub model: Option<JsonText<'f>>,
    /// Creation time, in seconds since 1970.
    pub created: Option<u64>,
}

/// The start of a block: its kind and its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockStart<'f> {
    /// Text.
    Text,
    /// A refusal.
    Refusal,
    /// Readable reasoning.
    Reasoning,
    /// Anthropic's redacted reasoning: the whole data.
    Redacted(JsonText<'f>),
    /// A tool call that the client runs. Its deltas are its arguments.
    Call {
        /// The call id, if any.
        id: Option<JsonText<'f>>,
        /// The tool's name.
        name: JsonText<'f>,
        /// Free text or JSON.
        family: CallFamily,
        /// Gemini's signature of the reasoning that led to the call.
        signature: Option<JsonText<'f>>,
    },
}

/// A delta of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockDelta<'f> {
    /// More text, or more arguments of a call.
    Text(JsonText<'f>),
    /// The signature of reasoning.
    Signature(JsonText<'f>),
    /// The encrypted form of reasoning.
    Encrypted(JsonText<'f>),
    /// A source of the text.
    Citation(TextCitation<'f>),
}

/// Receives events.
pub(crate) trait EventSink {
    /// Receives an event.
    fn event(&mut self, event: StreamEvent<'_>);
    /// Receives a loss: the reader left something out and went on.
    fn skip(&mut self, note: StreamLoss);
}

/// An observer of events alone.
impl<F: FnMut(&StreamEvent<'_>)> EventSink for F {
    fn event(&mut self, event: StreamEvent<'_>) {
        self(&event);
    }

    fn skip(&mut self, _: StreamLoss) {}
}

/// Something that a conversion left out of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamLoss {
    /// The kind of loss.
    pub kind: crate::conversation::LossKind,
    /// A sentence that describes it.
    pub note: String,
}

/// Options of a stream writer.
#[derive(Clone, Debug)]
pub(crate) struct StreamWriterOptions {
    /// The source format of the reply, if known.
    pub(crate) from: Option<Format>,
    /// Seed for generated ids.
    pub(crate) seed: String,
    /// Chat: write the token usage in its own chunk.
    pub(crate) usage: bool,
}
