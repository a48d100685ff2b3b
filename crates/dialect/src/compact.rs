//! Makes a document shorter: any strategy, one after the other, each on what the one before it left.
//!
//! An unsound document is repaired first. Then every strategy sees a proven transcript, its plan is
//! carried out by the engine, the result is read and weighed again. The caller gets a document that
//! is sound and within its limits, or an error and the document as it was.

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

/// A strategy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompactionStage {
    /// The first message stays, a fraction of the others goes.
    Window(HistoryFraction),
    /// The newest units that fit stay.
    Budget,
    /// Old, large answers shrink in place.
    Elide,
    /// What matters least goes.
    Importance,
    /// A summary takes the place of what is old.
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

/// How a document shall shrink.
#[derive(Clone, Debug)]
pub struct CompactionSettings {
    /// What the result has to be sound for, and how repairs are made.
    pub question: CheckOptions,
    /// The strategies, in order.
    pub stages: Vec<CompactionStage>,
    /// How many tokens it may take; without, only `Window` and `Summarize` do something.
    pub limits: Option<TokenLimits>,
    /// Messages that stay, by their index.
    pub pins: Vec<usize>,
    /// What may happen to answers.
    pub elision: ElisionPolicy,
    /// How many tokens of the newest units `Summarize` leaves as they are; a quarter of the limit
    /// unless somebody says otherwise.
    pub recent: Option<u64>,
}

impl CompactionSettings {
    /// Answers shrink first, then the oldest units go.
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

/// A shorter document.
#[derive(Clone, Debug)]
pub struct CompactedText<'a> {
    /// Its text: the input itself, if nothing had to happen.
    pub text: Cow<'a, str>,
    /// Its messages, in order.
    pub messages: Vec<CompactedMessageSpan>,
    /// What was done.
    pub account: CompactionAccount,
}

impl CompactedText<'_> {
    /// Whether it is another document than the input.
    pub fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }
}

/// A message of a shorter document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactedMessageSpan {
    /// The message of the input it comes from, the first if they were joined; `None` if it is new.
    pub origin: Option<usize>,
    /// Whether it is that message, byte for byte.
    pub unchanged: bool,
    /// Where it lies in the text.
    pub span: Span,
}

/// Why a document stays as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// It is not sound, and cannot be made so.
    #[error("the history is not sound, and repairing it leaves {} findings", .0.total())]
    Unsound(Box<Report>),
    /// What has to stay is too much.
    #[error(transparent)]
    CannotShrink(Box<ShrinkError>),
    /// The strategy needs to know how many tokens are allowed.
    #[error("the strategy `{}` needs a budget", .0.name())]
    NeedsBudget(CompactionStage),
    /// There is no summary.
    #[error("the summarizer `{name}` gave no summary: {why}")]
    NoSummary {
        /// Who was asked.
        name: String,
        /// What happened.
        why: String,
    },
    /// The summary is of no use.
    #[error(transparent)]
    Refused(#[from] SummaryRejection),
}

/// Makes a document shorter.
///
/// # Errors
/// If it cannot be read, cannot be repaired, cannot become short enough, or if nobody could
/// summarize it. The document then stays as it is.
pub fn compact<'a>(
    source: &'a str,
    wire: Format,
    settings: &CompactionSettings,
    counter: &mut dyn TokenCounter,
    summarizer: &mut dyn HistorySummarizer,
) -> Result<CompactedText<'a>, CompactError> {
    let mut work = CompactionState::new(source, wire, settings, counter)?;
    for &stage in &settings.stages {
        if work.is_enough(settings, stage)? {
            break;
        }
        work.run_stage(stage, settings, counter, summarizer)?;
    }
    work.finish(settings)
}

#[cfg(test)]
mod tests;
