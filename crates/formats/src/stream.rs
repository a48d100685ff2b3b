//! Converts streamed replies from any format into any other: bytes in, bytes out.
//!
//! A framer cuts the bytes into frames, a reader turns frames into [`event`]s, a sequencer puts the
//! events into an order that every format accepts, and a writer encodes them. Nothing waits for the
//! end unless the target format repeats it there. Pure: the same bytes give the same bytes, however
//! they are cut into chunks.

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

/// One frame of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamFrame<'f> {
    /// The name of the event, if the framing has names.
    pub(crate) name: Option<&'f str>,
    /// Its data.
    pub(crate) data: &'f str,
    /// Offset of its data in the stream.
    pub(crate) at: u64,
}

/// Why a stream cannot be read any further. Every variant has a byte offset from the start of the
/// stream.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A frame does not follow the format.
    #[error("byte {at}: {what}")]
    Malformed {
        /// Byte offset.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// The stream exceeds a memory limit.
    #[error("byte {at}: more than {most} bytes would have to be buffered")]
    TooLarge {
        /// Byte offset.
        at: u64,
        /// The limit in bytes.
        most: usize,
    },
}

/// Memory limits of a stream, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamLimits {
    /// Maximum size of one frame.
    pub frame: usize,
    /// Maximum size of all buffered data: blocks queued behind an open call, a call that the target
    /// needs as a whole, and text that the target repeats at its end.
    pub held: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { frame: 16 << 20, held: 64 << 20 }
    }
}
