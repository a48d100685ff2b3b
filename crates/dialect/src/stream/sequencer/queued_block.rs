//! A block that waits until those before it are whole.

use super::arguments::ArgumentsTracker;
use super::owned::owned_delta;
use crate::stream::event::{BlockDelta, BlockStart};

/// A block that waits.
pub(super) struct QueuedBlock {
    /// The reader's number.
    pub(super) source: u32,
    pub(super) kind: BlockStart<'static>,
    /// What was said in it so far.
    pub(super) deltas: Vec<QueuedDelta>,
    /// Its end has come.
    pub(super) complete: bool,
    pub(super) arguments: Option<ArgumentsTracker>,
    bytes: usize,
}

/// A piece that waits.
pub(super) enum QueuedDelta {
    /// Text in its JSON spelling, all that came in a row. Halves of a character that came in two
    /// pieces meet again here.
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
        let words = match &kind {
            BlockStart::Text | BlockStart::Refusal | BlockStart::Reasoning => 0,
            BlockStart::Redacted(data) => data.len(),
            BlockStart::Call { id, name, family: _, signature } => {
                let both = id.iter().chain(signature);
                name.len() + both.map(|words| words.len()).sum::<usize>()
            }
        };
        let bytes = size_of::<QueuedBlock>() + words;
        QueuedBlock { source, kind, deltas: Vec::new(), complete: false, arguments, bytes }
    }

    /// What it takes to keep it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, piece: &BlockDelta<'_>) {
        let BlockDelta::Text(words) = piece else {
            let piece = owned_delta(piece);
            self.bytes += size_of::<QueuedDelta>() + delta_length(&piece);
            return self.deltas.push(QueuedDelta::Other(piece));
        };
        if !matches!(self.deltas.last(), Some(QueuedDelta::Text(_))) {
            self.deltas.push(QueuedDelta::Text(String::new()));
            self.bytes += size_of::<QueuedDelta>();
        }
        let Some(QueuedDelta::Text(raw)) = self.deltas.last_mut() else { return };
        let before = raw.len();
        words.write_unquoted(raw);
        let added = raw.get(before..).unwrap_or("");
        self.bytes += added.len();
        if let Some(arguments) = &mut self.arguments {
            arguments.push(added);
        }
    }
}

fn delta_length(piece: &BlockDelta<'_>) -> usize {
    match piece {
        BlockDelta::Text(words) | BlockDelta::Signature(words) | BlockDelta::Encrypted(words) => {
            words.len()
        }
        BlockDelta::Citation(citation) => {
            let words = [&citation.url, &citation.title, &citation.quote];
            words.into_iter().flatten().map(|words| words.len()).sum()
        }
    }
}
