//! Makes a document shorter: any strategy, one after the other, each on what the one before it left.
//!
//! An unsound document is repaired first. Then every strategy sees a proven transcript, its plan is
//! carried out by the engine, the result is read and weighed again. The caller gets a document that
//! is sound and within its limits, or an error and the document as it was.

mod look;
mod hints;
mod words;
mod tell;
mod summary;
mod digest;
mod account;
mod stage;

use foxwedge_core::{
    Question, Report, RuleSet, Slot, Wire,
    compact::{CannotShrink, Counter, Elision, Fraction, Limits, Refusal, units},
    pair, repair,
};

pub use account::{Account, Became, Prefix, Shortened, Size, StageAccount};
pub use digest::Digest;
pub use look::{clues, weigh};
pub use summary::{Summarizer, SummaryRequest};

use crate::{ReadError, Reading, read, want};

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
pub struct Compacted {
    /// Its text.
    pub text: String,
    /// Whether it is another one than the input.
    pub changed: bool,
    /// Its messages, in order.
    pub messages: Vec<Line>,
    /// What was done.
    pub account: Account,
}

/// A message of a shorter document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The message of the input it comes from; `None` if it is new.
    pub origin: Option<usize>,
    /// Whether it is that message, byte for byte.
    pub kept: bool,
    /// Where it lies in the text.
    pub span: foxwedge_core::Span,
}

/// Why a document stays as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// It is not sound, and cannot be made so.
    #[error("the history is not sound, and repairing it leaves {} findings", .0.findings.len())]
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
pub fn compact(
    source: &str,
    wire: Wire,
    settings: &Settings,
    counter: &mut dyn Counter,
    summarizer: &mut dyn Summarizer,
) -> Result<Compacted, CompactError> {
    let mut work = Work::new(source, wire, settings, counter)?;
    for &stage in &settings.stages {
        if work.is_enough(settings, stage)? {
            break;
        }
        work.run(stage, settings, counter, summarizer)?;
    }
    work.finish(source, settings)
}

/// A document on its way from one strategy to the next.
struct Work {
    wire: Wire,
    /// What was asked, without the rules that the input breaks for good.
    question: Question,
    text: String,
    messages: Vec<Line>,
    size: Size,
    account: Account,
}

impl Work {
    /// Reads a document and makes it sound.
    fn new(
        source: &str,
        wire: Wire,
        settings: &Settings,
        counter: &mut dyn Counter,
    ) -> Result<Work, CompactError> {
        let question = settings.question;
        let reading = read(source, wire, want(question.profile))?;
        let repair = repair(&reading.draft, &question);
        let weights = weigh(&reading.draft, reading.frame, counter);
        let messages = reading.draft.messages.iter().enumerate();
        let messages =
            messages.map(|(at, message)| Line { origin: Some(at), kept: true, span: message.span });
        let account = Account {
            before: size(&reading, weights.total(), weights.around),
            messages: (0..weights.len()).map(|at| (weights.of_message(at), Became::Kept)).collect(),
            repaired: repair.edits.clone(),
            exact: weights.exact,
            ..Account::default()
        };
        let mut work = Work {
            wire,
            question: without(question, &repair.after),
            text: source.to_owned(),
            messages: messages.collect(),
            size: account.before,
            account,
        };
        work.account.remaining = repair.after.clone();
        if !repair.is_untouched() {
            let text = reading.apply(&repair).to_string();
            let marks = Mark::all(&repair.slots);
            work.take(text, &marks, counter)?;
        }
        Ok(work)
    }

    /// Takes over what a repair made of the document.
    fn take(
        &mut self,
        text: String,
        marks: &[Mark],
        counter: &mut dyn Counter,
    ) -> Result<(), CompactError> {
        let reading = read(&text, self.wire, want(self.question.profile))?;
        let weights = weigh(&reading.draft, reading.frame, counter);
        self.size = size(&reading, weights.total(), weights.around);
        let mut lines = Vec::with_capacity(marks.len());
        let mut there = vec![false; self.account.messages.len()];
        for (mark, message) in marks.iter().zip(&reading.draft.messages) {
            let old = mark.origin.and_then(|at| self.messages.get(at)).copied();
            let origin = old.and_then(|line| line.origin);
            let kept = old.is_some_and(|line| line.kept) && !mark.touched;
            if let Some(at) = origin {
                there[at] = true;
                if let Some((_, became)) = self.account.messages.get_mut(at).filter(|_| !kept) {
                    *became = Became::Changed;
                }
            }
            lines.push(Line { origin, kept, span: message.span });
        }
        for ((_, became), there) in self.account.messages.iter_mut().zip(there) {
            if !there && matches!(became, Became::Kept | Became::Changed) {
                *became = Became::Gone;
            }
        }
        self.messages = lines;
        self.text = text;
        Ok(())
    }

    /// Whether nothing has to happen any more.
    fn is_enough(&self, settings: &Settings, stage: Stage) -> Result<bool, CompactError> {
        match (settings.limits, stage) {
            (Some(limits), _) => Ok(self.size.tokens <= limits.most),
            (None, Stage::Window(_) | Stage::Summarize) => Ok(false),
            (None, Stage::Budget | Stage::Elide | Stage::Importance) => {
                Err(CompactError::NeedsBudget(stage))
            }
        }
    }

    fn finish(mut self, source: &str, settings: &Settings) -> Result<Compacted, CompactError> {
        if let Some(limits) = settings.limits
            && self.size.tokens > limits.most
        {
            let short = self.account.stages.iter_mut().rev().find_map(|stage| stage.short.take());
            let short = short.unwrap_or_else(|| CannotShrink {
                messages: 0..0,
                hold: foxwedge_core::compact::Hold::Free,
                needs: self.size.tokens,
                least: self.size.tokens,
                budget: limits.most,
                best: Box::default(),
            });
            return Err(CompactError::CannotShrink(Box::new(short)));
        }
        self.account.after = self.size;
        let first = self
            .messages
            .iter()
            .enumerate()
            .position(|(at, line)| !line.kept || line.origin != Some(at))
            .unwrap_or(self.messages.len());
        if self.text != source {
            let tokens = self.account.messages.iter().take(first).map(|(tokens, _)| tokens);
            let tokens = self.account.before.around + tokens.sum::<u64>();
            self.account.prefix = Some(Prefix { message: first, tokens });
        }
        Ok(Compacted {
            changed: self.text != source,
            text: self.text,
            messages: self.messages,
            account: self.account,
        })
    }
}

/// What a repair made of a message.
#[derive(Clone, Copy)]
struct Mark {
    /// The message it was.
    origin: Option<usize>,
    touched: bool,
}

impl Mark {
    fn all(slots: &[Slot<'_>]) -> Vec<Mark> {
        slots.iter().map(|slot| Mark { origin: slot.origin, touched: slot.touched }).collect()
    }
}

/// A question without the rules that were broken for good: nothing can be proven about those.
fn without(mut question: Question, report: &Report) -> Question {
    let mut rules: RuleSet = question.rules;
    for finding in &report.findings {
        rules.remove(finding.rule.code);
    }
    question.rules = rules;
    question
}

fn size(reading: &Reading<'_>, tokens: u64, around: u64) -> Size {
    let draft = &reading.draft;
    let pairing = pair(draft);
    Size {
        messages: draft.messages.len(),
        units: units(draft, &pairing).len(),
        calls: pairing.calls.len(),
        tokens,
        around,
    }
}
