//! What a compaction did, for people and programs. Every index is one of the input.

use std::ops::Range;

use foxwedge_core::{
    EditLog, Report,
    compact::{AnswerRemainder, DroppedUnit, HistoryCut, ShrinkError},
};

use super::CompactionStage;

/// What a compaction did.
#[derive(Clone, Debug, Default)]
pub struct CompactionAccount {
    /// The input.
    pub before: HistorySize,
    /// The output.
    pub after: HistorySize,
    /// Repairs that were made first, because the input was not sound.
    pub repaired: EditLog,
    /// What is wrong with the output: only what was wrong with the input and has no repair.
    pub remaining: Report,
    /// What each strategy did, in order.
    pub stages: Vec<StageAccount>,
    /// For each message of the input its tokens and what became of it.
    pub messages: Vec<(u64, MessageOutcome)>,
    /// The first message that is not as it was: from there on a prompt cache is lost.
    pub prefix: Option<CachedPrefix>,
    /// Whether tokens were counted with the model's own vocabulary.
    pub exact: bool,
}

/// How large a history is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HistorySize {
    /// Messages.
    pub messages: usize,
    /// What belongs together.
    pub units: usize,
    /// Calls.
    pub calls: usize,
    /// Tokens, all of them.
    pub tokens: u64,
    /// Tokens of instructions and tools beside the messages.
    pub surroundings: u64,
}

/// What one strategy did.
#[derive(Clone, Debug)]
pub struct StageAccount {
    /// Which.
    pub stage: CompactionStage,
    /// Tokens before it.
    pub before: u64,
    /// Tokens after it.
    pub after: u64,
    /// Units that went.
    pub removed: Vec<DroppedUnit>,
    /// Answers that shrank.
    pub shortened: Vec<ShortenedResult>,
    /// The cut that was asked for and the one that was made.
    pub cut: Option<HistoryCut>,
    /// Who wrote the summary, and how many tokens it has.
    pub summary: Option<(String, u64)>,
    /// What the engine had to mend behind it.
    pub edits: EditLog,
    /// Why it did not get as far as it should.
    pub shortage: Option<ShrinkError>,
}

/// An answer that shrank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortenedResult {
    /// The message it is in; `None` if that message is no message of the input.
    pub message: Option<usize>,
    /// The tool.
    pub tool: Option<String>,
    /// Its tokens before.
    pub tokens: u64,
    /// What is left.
    pub keep: AnswerRemainder,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageOutcome {
    /// It is there, byte for byte.
    Unchanged,
    /// It is there with shorter answers, or without reasoning that lost its past.
    Changed,
    /// A summary stands for it.
    Summarized,
    /// It is gone.
    Removed,
}

/// What a prompt cache can still use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedPrefix {
    /// The first message of the input that is not as it was.
    pub message: usize,
    /// Tokens in front of it, which stay in the cache.
    pub tokens: u64,
}

impl CompactionAccount {
    /// Messages of the input that are gone, in ranges.
    pub fn removed_ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let lost = self.messages.iter().enumerate().filter(|(_, (_, became))| match became {
            MessageOutcome::Removed | MessageOutcome::Summarized => true,
            MessageOutcome::Unchanged | MessageOutcome::Changed => false,
        });
        for (at, _) in lost {
            match ranges.last_mut().filter(|range| range.end == at) {
                Some(range) => range.end = at + 1,
                None => ranges.push(at..at + 1),
            }
        }
        ranges
    }
}
