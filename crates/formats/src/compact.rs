//! Shortens a document with a list of strategies. Each strategy runs on the result of the one
//! before.
//!
//! An invalid document is repaired first. Every strategy then gets a proven transcript; the core
//! applies its plan, and the result is read and counted again. The caller gets a document that is
//! valid and within its limits, or an error and the unchanged document.

mod token_weights;
mod call_clues;
mod tool_hints;
mod shortened_text;
mod plain_text;
mod summary;
mod digest_summarizer;
mod account;
mod state;
mod stage;

use std::borrow::Cow;

use foxwedge_core::{
    CheckOptions, Format, Report, Span,
    compact::{
        ElisionPolicy, HistoryFraction, ShrinkError, SummaryRejection, TokenCounter, TokenLimits,
    },
};

pub use account::{
    CachedPrefix, CompactionAccount, HistorySize, MessageOutcome, ShortenedResult, StageAccount,
};
pub use call_clues::read_clues;
pub use digest_summarizer::DigestSummarizer;
pub use summary::{HistorySummarizer, SummaryRequest};
pub use token_weights::weigh;

use crate::ReadError;
use state::CompactionState;

/// A compaction strategy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompactionStage {
    /// Keeps the first message and removes a fraction of the others.
    Window(HistoryFraction),
    /// Keeps the newest units that fit.
    Budget,
    /// Shortens old, large tool results in place.
    Elide,
    /// Removes the least important units.
    Importance,
    /// Replaces old messages with a summary.
    Summarize,
}

impl CompactionStage {
    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            CompactionStage::Window(_) => "window",
            CompactionStage::Budget => "budget",
            CompactionStage::Elide => "elide",
            CompactionStage::Importance => "importance",
            CompactionStage::Summarize => "summarize",
        }
    }
}

/// Settings of a compaction.
#[derive(Clone, Debug)]
pub struct CompactionSettings {
    /// Options for checking and repairing the result.
    pub question: CheckOptions,
    /// The strategies, in order.
    pub stages: Vec<CompactionStage>,
    /// Token limits. Without limits, only `Window` and `Summarize` have an effect.
    pub limits: Option<TokenLimits>,
    /// Indexes of the messages that must stay.
    pub pins: Vec<usize>,
    /// How tool results may be shortened.
    pub elision: ElisionPolicy,
    /// How many tokens of the newest units `Summarize` leaves unchanged. Default: a quarter of the
    /// limit.
    pub recent: Option<u64>,
}

impl CompactionSettings {
    /// Settings that first shorten tool results, then remove the oldest units.
    pub fn new(question: CheckOptions, limits: TokenLimits) -> CompactionSettings {
        CompactionSettings {
            question,
            stages: vec![CompactionStage::Elide, CompactionStage::Budget],
            limits: Some(limits),
            pins: Vec::new(),
            elision: ElisionPolicy::default(),
            recent: None,
        }
    }
}

/// A compacted document.
#[derive(Clone, Debug)]
pub struct CompactedText<'a> {
    /// The text; borrowed from the input if nothing changed.
    pub text: Cow<'a, str>,
    /// Its messages, in order.
    pub messages: Vec<CompactedMessageSpan>,
    /// What was done.
    pub account: CompactionAccount,
}

impl CompactedText<'_> {
    /// Whether the document differs from the input.
    pub fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }
}

/// A message of a compacted document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactedMessageSpan {
    /// Index of the input message it comes from, the first one if messages were merged; `None` if
    /// it is new.
    pub origin: Option<usize>,
    /// Whether the message is byte for byte the same.
    pub unchanged: bool,
    /// Its span in the text.
    pub span: Span,
}

/// Why a document was not compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The document cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The document is invalid and cannot be repaired.
    #[error("the history is invalid, and {} findings remain after a repair", .0.total())]
    Unsound(Box<Report>),
    /// The content that must stay is too large.
    #[error(transparent)]
    CannotShrink(Box<ShrinkError>),
    /// The strategy needs a token limit.
    #[error("the strategy `{}` needs a budget", .0.name())]
    NeedsBudget(CompactionStage),
    /// The summarizer failed.
    #[error("the summarizer `{name}` returned no summary: {why}")]
    NoSummary {
        /// Name of the summarizer.
        name: String,
        /// Reason of the failure.
        why: String,
    },
    /// The summary was rejected.
    #[error(transparent)]
    Refused(#[from] SummaryRejection),
}

/// Compacts a document.
///
/// # Errors
/// If the document cannot be read or repaired, cannot be made short enough, or if the summarizer
/// fails. The document then stays unchanged.
pub fn compact<'a>(
    source: &'a str,
    format: Format,
    settings: &CompactionSettings,
    counter: &mut dyn TokenCounter,
    summarizer: &mut dyn HistorySummarizer,
) -> Result<CompactedText<'a>, CompactError> {
    let mut state = CompactionState::new(source, format, settings, counter)?;
    for &stage in &settings.stages {
        if state.is_enough(settings, stage)? {
            break;
        }
        state.run_stage(stage, settings, counter, summarizer)?;
    }
    state.finish(settings)
}

#[cfg(test)]
mod tests;
