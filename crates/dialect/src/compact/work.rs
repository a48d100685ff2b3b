//! A document on its way from one strategy to the next.

use std::borrow::Cow;

use foxwedge_core::{
    BodyEdits, Draft, Message, Question, Repair, Report, RuleSet, Slot, Wire,
    compact::{CannotShrink, Counter, Elision, Hold, Limits, Unit, Weights, units},
    pair, repair,
};

use super::{
    Account, Became, CompactError, Compacted, Line, Prefix, Settings, Size, Stage, weigh, words,
};
use crate::{Reading, read, want};

/// A document on its way from one strategy to the next.
pub(super) struct Work<'s> {
    source: &'s str,
    pub(super) wire: Wire,
    /// What was asked, without the rules that the input breaks for good.
    pub(super) question: Question,
    /// Messages of the input that stay, in order.
    pub(super) pins: Vec<usize>,
    /// The text of the input until something changes.
    pub(super) text: Cow<'s, str>,
    pub(super) weights: Weights,
    /// For each message those of the input that it is made of; more than one if they were joined.
    pub(super) origins: Vec<Vec<usize>>,
    pub(super) size: Size,
    /// What may happen to answers, with the price of a note in tokens of this counter.
    pub(super) elision: Elision,
    pub(super) account: Account,
    /// Something beside the messages changed.
    around: bool,
}

impl<'s> Work<'s> {
    /// Reads a document and makes it sound.
    pub(super) fn new(
        source: &'s str,
        wire: Wire,
        settings: &Settings,
        counter: &mut dyn Counter,
    ) -> Result<Work<'s>, CompactError> {
        let question = settings.question;
        let reading = read(source, wire, want(question.profile))?;
        let repair = repair(&reading.draft, &question);
        let weights = weigh(&reading.draft, reading.frame, counter);
        let before = size(&reading, &weights);
        let mut pins = settings.pins.clone();
        pins.sort_unstable();
        let mut work = Work {
            source,
            wire,
            question: without(question, &repair.after),
            pins,
            text: Cow::Borrowed(source),
            origins: (0..before.messages).map(|at| vec![at]).collect(),
            size: before,
            elision: Elision {
                note: words::price(counter, question.policy.language),
                ..settings.elision.clone()
            },
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
            weights,
            around: false,
        };
        if !repair.is_untouched() {
            let text = reading.apply(&repair).to_string();
            work.take(Change::of(
                &reading.draft,
                &repair,
                text,
                work.wire,
                &work.question,
                counter,
            )?);
        }
        Ok(work)
    }

    /// Takes over what a repair made of the document.
    pub(super) fn take(&mut self, change: Change) {
        let before = std::mem::take(&mut self.origins);
        let known = |at: &usize| before.get(*at).map_or(&[][..], Vec::as_slice);
        let input = |made_of: &Vec<usize>| made_of.iter().flat_map(known).copied().collect();
        self.origins = change.origins.iter().map(input).collect();
        self.around |= change.around;
        self.size = change.size;
        self.weights = change.weights;
        self.text = Cow::Owned(change.text);
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
    pub(super) fn finish(mut self, settings: &Settings) -> Result<Compacted<'s>, CompactError> {
        if let Some(limits) = settings.limits
            && self.size.tokens > limits.most()
        {
            let short = self.short(limits)?;
            return Err(CompactError::CannotShrink(Box::new(short)));
        }
        self.account.after = self.size;
        let messages = self.lines()?;
        self.compare(&messages);
        if self.text != self.source {
            let stays = |(at, line): (usize, &Line)| line.kept && line.origin == Some(at);
            let same = messages.iter().enumerate().take_while(|&line| stays(line)).count();
            let message = if self.around { 0 } else { same };
            let before = self.account.messages.iter().take(message).map(|(tokens, _)| tokens);
            let around = if self.around { 0 } else { self.account.before.around };
            let tokens = around + before.sum::<u64>();
            self.account.prefix = Some(Prefix { message, tokens });
        }
        Ok(Compacted { text: self.text, messages, account: self.account })
    }

    /// The messages, each held against the one it was.
    fn lines(&self) -> Result<Vec<Line>, CompactError> {
        let want = want(self.question.profile);
        let (source, old) = (self.source, read(self.source, self.wire, want)?);
        if let Cow::Borrowed(_) = self.text {
            let lines = old.draft.messages.iter().enumerate();
            let kept = |(at, message): (usize, &Message)| Line {
                origin: Some(at),
                kept: true,
                span: message.span,
            };
            return Ok(lines.map(kept).collect());
        }
        let new = read(&self.text, self.wire, want)?;
        let lines = new.draft.messages.iter().zip(&self.origins).map(|(message, made_of)| {
            let (span, origin) = (message.span, made_of.first().copied());
            let was = origin.and_then(|at| old.draft.messages.get(at));
            let kept = was.is_some_and(|was| was.span.of(source) == span.of(&self.text));
            Line { origin, kept, span }
        });
        Ok(lines.collect())
    }

    /// Notes what became of the messages of the input.
    fn compare(&mut self, lines: &[Line]) {
        let mut became = vec![Became::Gone; self.account.messages.len()];
        for (line, made_of) in lines.iter().zip(&self.origins) {
            for &at in made_of {
                if let Some(became) = became.get_mut(at) {
                    *became = if line.kept { Became::Kept } else { Became::Changed };
                }
            }
        }
        for ((_, told), became) in self.account.messages.iter_mut().zip(became) {
            if *told != Became::Condensed || became != Became::Gone {
                *told = became;
            }
        }
    }

    /// What is still too much: the heaviest unit of what is left.
    fn short(&self, limits: Limits) -> Result<CannotShrink, CompactError> {
        let reading = read(&self.text, self.wire, want(self.question.profile))?;
        let weights = &self.weights;
        let units = units(&reading.draft, &pair(&reading.draft));
        let heaviest = units.iter().max_by_key(|unit| weights.of(unit.messages.clone()));
        let tokens = |unit: &Unit| weights.of(unit.messages.clone());
        let named = heaviest.filter(|unit| tokens(unit) >= weights.around);
        let is_last = |unit: &Unit| unit.messages.end == weights.len();
        let is_pin = |at: &usize| self.pins.binary_search(at).is_ok();
        let pinned = |unit: &Unit| {
            let made_of = self.origins.get(unit.messages.clone()).unwrap_or(&[]);
            made_of.iter().flatten().any(is_pin)
        };
        let is_new = |unit: &Unit| self.in_input(unit.messages.clone()).is_empty();
        let hold = |unit: &Unit| match unit.hold {
            Hold::Free if is_new(unit) => Hold::Summary,
            Hold::Free if pinned(unit) => Hold::Pinned,
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

/// What a repair made of a document.
pub(super) struct Change {
    text: String,
    /// For each message those that it is made of.
    origins: Vec<Vec<usize>>,
    /// Something beside the messages changed.
    around: bool,
    weights: Weights,
    size: Size,
}

impl Change {
    pub(super) fn of(
        draft: &Draft<'_>,
        repair: &Repair<'_>,
        text: String,
        wire: Wire,
        question: &Question,
        counter: &mut dyn Counter,
    ) -> Result<Change, CompactError> {
        let reading = read(&text, wire, want(question.profile))?;
        let weights = weigh(&reading.draft, reading.frame, counter);
        Ok(Change {
            origins: repair.slots.iter().map(|slot| made_of(draft, slot)).collect(),
            around: repair.body != BodyEdits::default(),
            size: size(&reading, &weights),
            weights,
            text,
        })
    }

    /// The tokens of the document now.
    pub(super) fn tokens(&self) -> u64 {
        self.size.tokens
    }
}

/// The messages that a slot is made of, in order.
fn made_of(draft: &Draft<'_>, slot: &Slot<'_>) -> Vec<usize> {
    let mut messages: Vec<usize> = slot.origin.into_iter().collect();
    if slot.touched {
        let spans = slot.pieces.iter().filter(|piece| !piece.part.span.is_empty());
        messages.extend(spans.filter_map(|piece| draft.message_at(piece.part.span)));
        messages.sort_unstable();
        messages.dedup();
    }
    messages
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

fn size(reading: &Reading<'_>, weights: &Weights) -> Size {
    let draft = &reading.draft;
    let pairing = pair(draft);
    Size {
        messages: draft.messages.len(),
        units: units(draft, &pairing).len(),
        calls: pairing.calls.len(),
        tokens: weights.total(),
        around: weights.around,
    }
}
