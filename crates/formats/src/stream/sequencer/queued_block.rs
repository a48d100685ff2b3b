//! Blocks that wait until the blocks before them are complete.

use super::arguments::ArgumentsTracker;
use crate::event::{BlockDelta, BlockStart, owned::owned_delta};

/// A block in the queue.
pub(super) struct QueuedBlock {
    /// The reader's number.
    pub(super) source: u32,
    pub(super) kind: BlockStart<'static>,
    /// Its deltas so far.
    pub(super) deltas: Vec<QueuedDelta>,
    /// It was closed.
    pub(super) complete: bool,
    pub(super) arguments: Option<ArgumentsTracker>,
    bytes: usize,
}

/// A delta in the queue.
pub(super) enum QueuedDelta {
    /// Consecutive text, JSON-escaped. Surrogate pairs split over two deltas meet here.
    Text(String),
    /// Anything else.
    Other(BlockDelta<'static>),
}

impl QueuedBlock {
    pub(super) fn new(
        source: u32,
        kind: BlockStart<'static>,
        arguments: Option<ArgumentsTracker>,
    ) -> QueuedBlock {
        let text_bytes = match &kind {
            BlockStart::Text | BlockStart::Refusal | BlockStart::Reasoning => 0,
            BlockStart::Redacted(data) => data.len(),
            BlockStart::Call { id, name, family: _, signature } => {
                let texts = id.iter().chain(signature);
                name.len() + texts.map(|text| text.len()).sum::<usize>()
            }
        };
        let bytes = size_of::<QueuedBlock>() + text_bytes;
        QueuedBlock { source, kind, deltas: Vec::new(), complete: false, arguments, bytes }
    }

    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, delta: &BlockDelta<'_>) {
        let BlockDelta::Text(text) = delta else {
            let delta = owned_delta(delta);
            self.bytes += size_of::<QueuedDelta>() + delta_length(&delta);
            return self.deltas.push(QueuedDelta::Other(delta));
        };
        if !matches!(self.deltas.last(), Some(QueuedDelta::Text(_))) {
            self.deltas.push(QueuedDelta::Text(String::new()));
            self.bytes += size_of::<QueuedDelta>();
        }
        let Some(QueuedDelta::Text(raw)) = self.deltas.last_mut() else { return };
        let before = raw.len();
        text.write_unquoted(raw);
        let added = raw.get(before..).unwrap_or("");
        self.bytes += added.len();
        if let Some(arguments) = &mut self.arguments {
            arguments.push(added);
        }
    }
}

fn delta_length(delta: &BlockDelta<'_>) -> usize {
    match delta {
        BlockDelta::Text(text) | BlockDelta::Signature(text) | BlockDelta::Encrypted(text) => {
            text.len()
        }
        BlockDelta::Citation(citation) => {
            let texts = [&citation.url, &citation.title, &citation.quote];
            texts.into_iter().flatten().map(|text| text.len()).sum()
        }
    }
}
