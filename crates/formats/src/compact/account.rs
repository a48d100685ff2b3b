//! Account of a compaction, for users and programs. Every index refers to the input.

use std::ops::Range;

use foxwedge_core::{
    EditLog, Report,
    compact::{AnswerRemainder, DroppedUnit, HistoryCut, ShrinkError},
};

use super::CompactionStage;

/// Account of a compaction.
#[derive(Clone, Debug, Default)]
pub struct CompactionAccount {
    /// Size of the input.
    pub before: HistorySize,
    /// Size of the output.
    pub after: HistorySize,
    /// Repairs made first, because the input was invalid.
    pub repaired: EditLog,
    /// Findings in the output: only those of the input that cannot be repaired.
    pub remaining: Report,
    /// What each strategy did, in order.
    pub stages: Vec<StageAccount>,
    /// For each message of the input, its tokens and its outcome.
    pub messages: Vec<(u64, MessageOutcome)>,
    /// The part of the input that a prompt cache can still use; `None` if all of it is unchanged.
    pub prefix: Option<CachedPrefix>,
    /// Whether tokens were counted with the model's own tokenizer.
    pub exact: bool,
}

/// Size of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HistorySize {
    /// Number of messages.
    pub messages: usize,
    /// Number of units.
    pub units: usize,
    /// Number of tool calls.
    pub calls: usize,
    /// Number of tokens, including `surroundings`.
    pub tokens: u64,
    /// Tokens of instructions and tools outside the messages.
    pub surroundings: u64,
}

/// What one strategy did.
#[derive(Clone, Debug)]
pub struct StageAccount {
    /// The strategy.
    pub stage: CompactionStage,
    /// Tokens before it.
    pub before: u64,
    /// Tokens after it.
    pub after: u64,
    /// Units that were removed.
    pub removed: Vec<DroppedUnit>,
    /// Tool results that were shortened.
    pub shortened: Vec<ShortenedResult>,
    /// The requested cut and the actual cut.
    pub cut: Option<HistoryCut>,
    /// Name of the summarizer, and the number of tokens of the summary.
    pub summary: Option<(String, u64)>,
    /// Repairs made after the strategy.
    pub edits: EditLog,
    /// Why the strategy missed its target.
    pub shortage: Option<ShrinkError>,
}

/// A tool result that was shortened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortenedResult {
    /// Index of its message; `None` if that message is not from the input.
    pub message: Option<usize>,
    /// Name of the tool.
    pub tool: Option<String>,
    /// Its tokens before.
    pub tokens: u64,
    /// What is left of it.
    pub keep: AnswerRemainder,
}

/// Outcome of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageOutcome {
    /// The message is byte for byte the same.
    Unchanged,
    /// The message has shorter tool results, or lost reasoning whose context was removed.
    Changed,
    /// The message is covered by a summary.
    Summarized,
    /// The message was removed.
    Removed,
}

/// The part of a history that a prompt cache can still use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedPrefix {
    /// The first message of the input that is not unchanged.
    pub message: usize,
    /// Tokens before that message; these stay in the cache.
    pub tokens: u64,
}

impl CompactionAccount {
    /// Ranges of the input messages that were removed.
    pub fn removed_ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let removed = self.messages.iter().enumerate().filter(|(_, (_, outcome))| match outcome {
            MessageOutcome::Removed | MessageOutcome::Summarized => true,
            MessageOutcome::Unchanged | MessageOutcome::Changed => false,
        });
        for (at, _) in removed {
            match ranges.last_mut().filter(|range| range.end == at) {
                Some(range) => range.end = at + 1,
                None => ranges.push(at..at + 1),
            }
        }
        ranges
    }
}
