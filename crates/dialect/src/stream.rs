//! Answers that come in pieces, from any format into any other: bytes in, bytes out.
//!
//! Bytes are cut into frames, a reader says what happens in them, [`event`] after event is put into
//! an order that every format can take, and a writer spells it. Nothing waits for the end unless
//! the target's own form repeats it there. Pure: the same bytes give the same bytes, however they
//! are cut into chunks.

pub mod event;
mod frame;
mod read;
mod sequencer;
mod write;
mod collect;
mod reply_events;
mod converter;
mod watcher;

pub use collect::{CollectedEnding, CollectedReply};
pub use converter::{StreamConverter, StreamEnding, StreamOptions, collect, write_stream};
pub use watcher::{StreamObservation, StreamWatcher};

/// A frame of a stream: what one event says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamFrame<'f> {
    /// The name of the event, where the framing has one.
    pub(crate) name: Option<&'f str>,
    /// Its data.
    pub(crate) data: &'f str,
    /// Where its data begins in the stream.
    pub(crate) at: u64,
}

/// Why a stream cannot be read on. Every variant names the place: bytes from the beginning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A frame is not what the format says.
    #[error("byte {at}: {what}")]
    Malformed {
        /// The byte.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// More than may be kept.
    #[error("byte {at}: more than {most} bytes would have to be kept")]
    TooLarge {
        /// The byte.
        at: u64,
        /// The limit.
        most: usize,
    },
}

/// What is kept of a stream at most, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamLimits {
    /// One frame.
    pub frame: usize,
    /// Everything that has to wait: blocks behind an open call, a call that the target takes in one
    /// piece only, texts that the target repeats at their end.
    pub held: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { frame: 16 << 20, held: 64 << 20 }
    }
}
