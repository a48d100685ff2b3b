//! Passes on a stream that is already in the target format: its frames stay as they are.

use foxwedge_core::Format;

use super::StreamOptions;

/// The bytes of a stream that are not passed on: those of its incomplete frame.
#[derive(Default)]
pub(super) struct ForwardedFrames {
    waiting: Vec<u8>,
    /// Offset of the first of them in the stream.
    at: u64,
}

impl ForwardedFrames {
    /// Whether a stream can be passed on: it is in the target format, and nothing in it has to
    /// change. Chat is written anew: many servers send it without ids, or with an id twice.
    pub(super) fn suit(from: Format, to: Format, options: &StreamOptions) -> bool {
        let changes = options.model.is_some() || !options.renamed_tools.is_empty();
        from == to && from != Format::OpenaiChat && !changes
    }

    /// Takes bytes of the stream.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Passes on the bytes before an offset in the stream.
    pub(super) fn pass_on(&mut self, end: u64, out: &mut Vec<u8>) {
        let count = usize::try_from(end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = count.min(self.waiting.len());
        out.extend(self.waiting.drain(..count));
        self.at += count as u64;
    }
}
