//! A document on its way from one strategy to the next.

use foxwedge_core::{
    BodyEdits, Question, Repair, Report, RuleSet, Wire,
    compact::{CannotShrink, Counter, Hold, Limits, Unit, units},
    pair, repair,
};

use super::{Account, Became, CompactError, Compacted, Line, Prefix, Settings, Size, Stage, weigh};
use crate::{Reading, read, want};

/// A document on its way from one strategy to the next.
pub(super) struct Work {
    pub(super) wire: Wire,
    /// What was asked, without the rules that the input breaks for good.
    pub(super) question: Question,
    /// Messages of the input that stay, in order.
    pub(super) pins: Vec<usize>,
    pub(super) text: String,
    /// For each message the one of the input that it is, or was.
    pub(super) origins: Vec<Option<usize>>,
    pub(super) size: Size,
    pub(super) account: Account,
    /// Something beside the messages changed.
    around: bool,
}

impl Work {
    /// Reads a document and makes it sound.
    pub(super) fn new(
        source: &str,
        wire: Wire,
        settings: &Settings,
        counter: &mut dyn Counter,
    ) -> Result<Work, CompactError> {
        let question = settings.question;
        let reading = read(source, wire, want(question.profile))?;
        let repair = repair(&reading.draft, &question);
        let weights = weigh(&reading.draft, reading.frame, counter);
        let before = size(&reading, weights.total(), weights.around);
        let mut pins = settings.pins.clone();
        pins.sort_unstable();
        let mut work = Work {
            wire,
            question: without(question, &repair.after),
            pins,
            text: source.to_owned(),
            origins: (0..before.messages).map(Some).collect(),
            size: before,
            account: Account {
                before,
                messages: (0..before.messages)
                    .map(|at| (weights.of_message(at), Became::Kept))
                    .collect(),
                repaired: repair.edits.clone(),
                remaining: repair.after.clone(),
                exact: weights.exact,
                ..Account::default()
            },
            around: false,
        };
        if !repair.is_untouched() {
            let text = reading.apply(&repair).to_string();
            work.take(text, &Change::of(&repair), counter)?;
        }
        Ok(work)
    }

    /// Takes over what a repair made of the document.
    pub(super) fn take(
        &mut self,
        text: String,
        change: &Change,
        counter: &mut dyn Counter,
    ) -> Result<(), CompactError> {
        let reading = read(&text, self.wire, want(self.question.profile))?;
        let weights = weigh(&reading.draft, reading.frame, counter);
        self.size = size(&reading, weights.total(), weights.around);
        let origin = |at: &Option<usize>| at.and_then(|at| self.origins.get(at).copied().flatten());
        self.origins = change.origins.iter().map(origin).collect();
        self.around |= change.around;
        self.text = text;
        Ok(())
    }

    /// Whether nothing has to happen any more.
    pub(super) fn is_enough(
        &self,
        settings: &Settings,
        stage: Stage,
    ) -> Result<bool, CompactError> {
        match (settings.limits, stage) {
            (Some(limits), _) => Ok(self.size.tokens <= limits.most()),
            (None, Stage::Window(_) | Stage::Summarize) => Ok(false),
            (None, Stage::Budget | Stage::Elide | Stage::Importance) => {
                Err(CompactError::NeedsBudget(stage))
            }
        }
    }

    /// The document, or why it is not short enough.
    pub(super) fn finish(
        mut self,
        source: &str,
        settings: &Settings,
        counter: &mut dyn Counter,
    ) -> Result<Compacted, CompactError> {
        if let Some(limits) = settings.limits
            && self.size.tokens > limits.most()
        {
            let short = self.short(limits, counter)?;
            return Err(CompactError::CannotShrink(Box::new(short)));
        }
        self.account.after = self.size;
        let changed = self.text != source;
        let messages = self.lines(source)?;
        self.compare(&messages);
        if changed {
            let stays = |(at, line): (usize, &Line)| line.kept && line.origin == Some(at);
            let same = messages.iter().enumerate().take_while(|&line| stays(line)).count();
            let message = if self.around { 0 } else { same };
            let before = self.account.messages.iter().take(message).map(|(tokens, _)| tokens);
            let around = if self.around { 0 } else { self.account.before.around };
            let tokens = around + before.sum::<u64>();
            self.account.prefix = Some(Prefix { message, tokens });
        }
        Ok(Compacted { text: self.text, changed, messages, account: self.account })
    }

    /// The messages, each held against the one it was.
    fn lines(&self, source: &str) -> Result<Vec<Line>, CompactError> {
        let want = want(self.question.profile);
        let (old, new) = (read(source, self.wire, want)?, read(&self.text, self.wire, want)?);
        let lines = new.draft.messages.iter().zip(&self.origins).map(|(message, &origin)| {
            let span = message.span;
            let was = origin.and_then(|at| old.draft.messages.get(at));
            let kept = was.is_some_and(|was| was.span.of(source) == span.of(&self.text));
            Line { origin, kept, span }
        });
        Ok(lines.collect())
    }

    /// Notes what became of the messages of the input.
    fn compare(&mut self, lines: &[Line]) {
        let mut became = vec![Became::Gone; self.account.messages.len()];
        for line in lines {
            if let Some(became) = line.origin.and_then(|at| became.get_mut(at)) {
                *became = if line.kept { Became::Kept } else { Became::Changed };
            }
        }
        for ((_, told), became) in self.account.messages.iter_mut().zip(became) {
            if *told != Became::Condensed || became != Became::Gone {
                *told = became;
            }
        }
    }

    /// What is still too much: the heaviest unit of what is left.
    fn short(
        &self,
        limits: Limits,
        counter: &mut dyn Counter,
    ) -> Result<CannotShrink, CompactError> {
        let reading = read(&self.text, self.wire, want(self.question.profile))?;
        let weights = weigh(&reading.draft, reading.frame, counter);
        let units = units(&reading.draft, &pair(&reading.draft));
        let heaviest = units.iter().max_by_key(|unit| weights.of(unit.messages.clone()));
        let tokens = |unit: &Unit| weights.of(unit.messages.clone());
        let named = heaviest.filter(|unit| tokens(unit) >= weights.around);
        let is_last = |unit: &Unit| unit.messages.end == weights.len();
        let hold = |unit: &Unit| match unit.hold {
            Hold::Free if is_last(unit) => Hold::End,
            hold => hold,
        };
        Ok(CannotShrink {
            messages: named.map_or(0..0, |unit| self.in_input(unit.messages.clone())),
            hold: named.map_or(Hold::Free, hold),
            needs: named.map_or(weights.around, tokens),
            least: self.size.tokens,
            budget: limits.most(),
            best: Box::default(),
        })
    }
}

/// What a repair made of a document, beside its text.
pub(super) struct Change {
    /// For each message the one it was.
    origins: Vec<Option<usize>>,
    /// Something beside the messages changed.
    around: bool,
}

impl Change {
    pub(super) fn of(repair: &Repair<'_>) -> Change {
        Change {
            origins: repair.slots.iter().map(|slot| slot.origin).collect(),
            around: repair.body != BodyEdits::default(),
        }
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
