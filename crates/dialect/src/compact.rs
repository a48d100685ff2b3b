//! Makes a document shorter: any strategy, one after the other, each on what the one before it left.
//!
//! An unsound document is repaired first. Then every strategy sees a proven transcript, its plan is
//! carried out by the engine, the result is read and weighed again. The caller gets a document that
//! is sound and within its limits, or an error and the document as it was.

mod weigh;
mod look;
mod hints;
mod words;
mod tell;
mod summary;
mod digest;
mod account;
mod work;
mod stage;

use std::borrow::Cow;

use foxwedge_core::{
    Question, Report, Span, Wire,
    compact::{CannotShrink, Counter, Elision, Fraction, Limits, Refusal},
};

pub use account::{Account, Became, Prefix, Shortened, Size, StageAccount};
pub use digest::Digest;
pub use look::clues;
pub use summary::{Summarizer, SummaryRequest};
pub use weigh::weigh;

use crate::ReadError;
use work::Work;

/// A strategy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stage {
    /// The first message stays, a fraction of the others goes.
    Window(Fraction),
    /// The newest units that fit stay.
    Budget,
    /// Old, large answers shrink in place.
    Elide,
    /// What matters least goes.
    Importance,
    /// A summary takes the place of what is old.
    Summarize,
}

impl Stage {
    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Window(_) => "window",
            Stage::Budget => "budget",
            Stage::Elide => "elide",
            Stage::Importance => "importance",
            Stage::Summarize => "summarize",
        }
    }
}

/// How a document shall shrink.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the result has to be sound for, and how repairs are made.
    pub question: Question,
    /// The strategies, in order.
    pub stages: Vec<Stage>,
    /// How many tokens it may take; without, only `Window` and `Summarize` do something.
    pub limits: Option<Limits>,
    /// Messages that stay, by their index.
    pub pins: Vec<usize>,
    /// What may happen to answers.
    pub elision: Elision,
    /// How many tokens of the newest units `Summarize` leaves as they are; a quarter of the limit
    /// unless somebody says otherwise.
    pub recent: Option<u64>,
}

impl Settings {
    /// Answers shrink first, then the oldest units go.
    pub fn new(question: Question, limits: Limits) -> Settings {
        Settings {
            question,
            stages: vec![Stage::Elide, Stage::Budget],
            limits: Some(limits),
            pins: Vec::new(),
            elision: Elision::default(),
            recent: None,
        }
    }
}

/// A shorter document.
#[derive(Clone, Debug)]
pub struct Compacted<'a> {
    /// Its text: the input itself, if nothing had to happen.
    pub text: Cow<'a, str>,
    /// Its messages, in order.
    pub messages: Vec<Line>,
    /// What was done.
    pub account: Account,
}

impl Compacted<'_> {
    /// Whether it is another document than the input.
    pub fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }
}

/// A message of a shorter document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The message of the input it comes from, the first if they were joined; `None` if it is new.
    pub origin: Option<usize>,
    /// Whether it is that message, byte for byte.
    pub kept: bool,
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
    CannotShrink(Box<CannotShrink>),
    /// The strategy needs to know how many tokens are allowed.
    #[error("the strategy `{}` needs a budget", .0.name())]
    NeedsBudget(Stage),
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
    Refused(#[from] Refusal),
}

/// Makes a document shorter.
///
/// # Errors
/// If it cannot be read, cannot be repaired, cannot become short enough, or if nobody could
/// summarize it. The document then stays as it is.
pub fn compact<'a>(
    source: &'a str,
    wire: Wire,
    settings: &Settings,
    counter: &mut dyn Counter,
    summarizer: &mut dyn Summarizer,
) -> Result<Compacted<'a>, CompactError> {
    let mut work = Work::new(source, wire, settings, counter)?;
    for &stage in &settings.stages {
        if work.is_enough(settings, stage)? {
            break;
        }
        work.run(stage, settings, counter, summarizer)?;
    }
    work.finish(settings)
}

#[cfg(test)]
mod tests;
