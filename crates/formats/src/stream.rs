//! Converts streamed replies from any format into any other: bytes in, bytes out.
//!
//! A framer cuts the bytes into frames, a reader turns frames into [`event`]s, a sequencer puts the
//! events into an order that every format accepts, and a writer encodes them. Nothing waits for the
//! end unless the target format repeats it there. Pure: the same bytes give the same bytes, however
//! they are cut into chunks.

mod read;
mod sequencer;
mod write;
mod collect;
mod reply_events;
mod converter;
pub(crate) mod free_text;
mod watcher;

pub use crate::{event, frame::StreamError};
pub use collect::{CollectedEnding, CollectedReply};
pub use converter::{StreamConverter, StreamEnding, StreamOptions, write_stream};
pub use reply_events::reply_events;
pub use sequencer::ArgumentsTracker;
pub use watcher::{StreamObservation, StreamWatcher, collect};

/// Memory limits of a stream, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamLimits {
    /// Maximum size of one frame.
    pub frame: usize,
    /// Maximum size of all buffered data: blocks queued behind an open call, a call that the target
    /// needs as a whole, and text that the target repeats at its end.
    pub held: usize,
}

/// The settings of a caller that hold its [`StreamLimits`]: errors name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamLimitSettings {
    /// The setting for one frame.
    pub frame: &'static str,
    /// The setting for all buffered data.
    pub held: &'static str,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { frame: 16 << 20, held: 64 << 20 }
    }
}
