//! A document on its way from one strategy to the next.

use std::borrow::Cow;

use foxwedge_core::{
    BodyEdits, CheckOptions, Draft, Format, Message, Repair, RepairedMessage, Report, RuleSet,
    compact::{
        ElisionPolicy, ShrinkError, TokenCounter, TokenLimits, TokenWeights, Unit, UnitHold,
        split_units,
    },
    pair_calls, repair,
};

use super::{
    CachedPrefix, CompactError, CompactedMessageSpan, CompactedText, CompactionAccount,
    CompactionSettings, CompactionStage, HistorySize, MessageOutcome, shortened_text, weigh,
};
use crate::{OutlinedDocument, outline_options, read};

/// A document on its way from one strategy to the next.
pub(super) struct CompactionState<'s> {
    source: &'s str,
    pub(super) wire: Format,
    /// What was asked, without the rules that the input breaks for good.
    pub(super) question: CheckOptions,
    /// Messages of the input that stay, in order.
    pub(super) pins: Vec<usize>,
    /// The text of the input until something changes.
    pub(super) text: Cow<'s, str>,
    pub(super) weights: TokenWeights,
    /// For each message those of the input that it is made of; more than one if they were joined.
    pub(super) origins: Vec<Vec<usize>>,
    pub(super) size: HistorySize,
    /// What may happen to answers, with the price of a note in tokens of this counter.
    pub(super) elision: ElisionPolicy,
    pub(super) account: CompactionAccount,
    /// Something beside the messages changed.
    surroundings_changed: bool,
}

impl<'s> CompactionState<'s> {
    /// Reads a document and makes it sound.
    pub(super) fn new(
        source: &'s str,
        wire: Format,
        settings: &CompactionSettings,
        counter: &mut dyn TokenCounter,
    ) -> Result<CompactionState<'s>, CompactError> {
        let question = settings.question;
        let reading = read(source, wire, outline_options(question.profile))?;
        let repair = repair(&reading.draft, &question);
        let weights = weigh(&reading.draft, reading.frame, counter);
        let before = measure_size(&reading, &weights);
        let mut pins = settings.pins.clone();
        pins.sort_unstable();
        let mut work = CompactionState {
            source,
            wire,
            question: without_broken_rules(question, &repair.after),
            pins,
            text: Cow::Borrowed(source),
            origins: (0..before.messages).map(|at| vec![at]).collect(),
            size: before,
            elision: ElisionPolicy {
                note_tokens: shortened_text::note_cost(counter, question.policy.language),
                ..settings.elision.clone()
            },
            account: CompactionAccount {
                before,
                messages: (0..before.messages)
                    .map(|at| (weights.of_message(at), MessageOutcome::Unchanged))
                    .collect(),
                repaired: repair.edits.clone(),
                remaining: repair.after.clone(),
                exact: weights.exact,
                ..CompactionAccount::default()
            },
            weights,
            surroundings_changed: false,
        };
        if !repair.is_untouched() {
            let text = reading.apply(&repair).to_string();
            work.apply_change(CompactionChange::of(
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
    pub(super) fn apply_change(&mut self, change: CompactionChange) {
        let before = std::mem::take(&mut self.origins);
        let known = |at: &usize| before.get(*at).map_or(&[][..], Vec::as_slice);
        let input = |made_of: &Vec<usize>| made_of.iter().flat_map(known).copied().collect();
        self.origins = change.origins.iter().map(input).collect();
        self.surroundings_changed |= change.surroundings_changed;
        self.size = change.size;
        self.weights = change.weights;
        self.text = Cow::Owned(change.text);
    }

    /// Whether nothing has to happen any more.
    pub(super) fn is_enough(
        &self,
        settings: &CompactionSettings,
        stage: CompactionStage,
    ) -> Result<bool, CompactError> {
        match (settings.limits, stage) {
            (Some(limits), _) => Ok(self.size.tokens <= limits.max_tokens()),
            (None, CompactionStage::Window(_) | CompactionStage::Summarize) => Ok(false),
            (
                None,
                CompactionStage::Budget | CompactionStage::Elide | CompactionStage::Importance,
            ) => Err(CompactError::NeedsBudget(stage)),
        }
    }

    /// The document, or why it is not short enough.
    pub(super) fn finish(
        mut self,
        settings: &CompactionSettings,
    ) -> Result<CompactedText<'s>, CompactError> {
        if let Some(limits) = settings.limits
            && self.size.tokens > limits.max_tokens()
        {
            let short = self.explain_excess(limits)?;
            return Err(CompactError::CannotShrink(Box::new(short)));
        }
        self.account.after = self.size;
        let messages = self.compacted_messages()?;
        self.record_outcomes(&messages);
        if self.text != self.source {
            let stays = |(at, line): (usize, &CompactedMessageSpan)| {
                line.unchanged && line.origin == Some(at)
            };
            let same = messages.iter().enumerate().take_while(|&line| stays(line)).count();
            let message = if self.surroundings_changed { 0 } else { same };
            let before = self.account.messages.iter().take(message).map(|(tokens, _)| tokens);
            let around =
                if self.surroundings_changed { 0 } else { self.account.before.surroundings };
            let tokens = around + before.sum::<u64>();
            self.account.prefix = Some(CachedPrefix { message, tokens });
        }
        Ok(CompactedText { text: self.text, messages, account: self.account })
    }

    /// The messages, each held against the one it was.
    fn compacted_messages(&self) -> Result<Vec<CompactedMessageSpan>, CompactError> {
        let want = outline_options(self.question.profile);
        let (source, old) = (self.source, read(self.source, self.wire, want)?);
        if let Cow::Borrowed(_) = self.text {
            let lines = old.draft.messages.iter().enumerate();
            let kept = |(at, message): (usize, &Message)| CompactedMessageSpan {
                origin: Some(at),
                unchanged: true,
                span: message.span,
            };
            return Ok(lines.map(kept).collect());
        }
        let new = read(&self.text, self.wire, want)?;
        let lines = new.draft.messages.iter().zip(&self.origins).map(|(message, made_of)| {
            let (span, origin) = (message.span, made_of.first().copied());
            let was = origin.and_then(|at| old.draft.messages.get(at));
            let kept = was.is_some_and(|was| was.span.of(source) == span.of(&self.text));
            CompactedMessageSpan { origin, unchanged: kept, span }
        });
        Ok(lines.collect())
    }

    /// Notes what became of the messages of the input.
    fn record_outcomes(&mut self, lines: &[CompactedMessageSpan]) {
        let mut became = vec![MessageOutcome::Removed; self.account.messages.len()];
        for (line, made_of) in lines.iter().zip(&self.origins) {
            for &at in made_of {
                if let Some(became) = became.get_mut(at) {
                    *became = if line.unchanged {
                        MessageOutcome::Unchanged
                    } else {
                        MessageOutcome::Changed
                    };
                }
            }
        }
        for ((_, told), became) in self.account.messages.iter_mut().zip(became) {
            if *told != MessageOutcome::Summarized || became != MessageOutcome::Removed {
                *told = became;
            }
        }
    }

    /// What is still too much: the heaviest unit of what is left.
    fn explain_excess(&self, limits: TokenLimits) -> Result<ShrinkError, CompactError> {
        let reading = read(&self.text, self.wire, outline_options(self.question.profile))?;
        let weights = &self.weights;
        let units = split_units(&reading.draft, &pair_calls(&reading.draft));
        let heaviest = units.iter().max_by_key(|unit| weights.of(unit.messages.clone()));
        let tokens = |unit: &Unit| weights.of(unit.messages.clone());
        let named = heaviest.filter(|unit| tokens(unit) >= weights.overhead);
        let is_last = |unit: &Unit| unit.messages.end == weights.len();
        let is_pin = |at: &usize| self.pins.binary_search(at).is_ok();
        let pinned = |unit: &Unit| {
            let made_of = self.origins.get(unit.messages.clone()).unwrap_or(&[]);
            made_of.iter().flatten().any(is_pin)
        };
        let is_new = |unit: &Unit| self.input_range(unit.messages.clone()).is_empty();
        let hold = |unit: &Unit| match unit.hold {
            UnitHold::Free if is_new(unit) => UnitHold::Summary,
            UnitHold::Free if pinned(unit) => UnitHold::Pinned,
            UnitHold::Free if is_last(unit) => UnitHold::End,
            hold => hold,
        };
        Ok(ShrinkError {
            messages: named.map_or(0..0, |unit| self.input_range(unit.messages.clone())),
            hold: named.map_or(UnitHold::Free, hold),
            needed: named.map_or(weights.overhead, tokens),
            total_needed: self.size.tokens,
            budget: limits.max_tokens(),
            best_plan: Box::default(),
        })
    }
}

/// What a repair made of a document.
pub(super) struct CompactionChange {
    text: String,
    /// For each message those that it is made of.
    origins: Vec<Vec<usize>>,
    /// Something beside the messages changed.
    surroundings_changed: bool,
    weights: TokenWeights,
    size: HistorySize,
}

impl CompactionChange {
    pub(super) fn of(
        draft: &Draft<'_>,
        repair: &Repair<'_>,
        text: String,
        wire: Format,
        question: &CheckOptions,
        counter: &mut dyn TokenCounter,
    ) -> Result<CompactionChange, CompactError> {
        let reading = read(&text, wire, outline_options(question.profile))?;
        let weights = weigh(&reading.draft, reading.frame, counter);
        Ok(CompactionChange {
            origins: repair.messages.iter().map(|slot| source_messages(draft, slot)).collect(),
            surroundings_changed: repair.body != BodyEdits::default(),
            size: measure_size(&reading, &weights),
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
fn source_messages(draft: &Draft<'_>, slot: &RepairedMessage<'_>) -> Vec<usize> {
    let mut messages: Vec<usize> = slot.origin.into_iter().collect();
    if slot.touched {
        let spans = slot.parts.iter().filter(|piece| !piece.part.span.is_empty());
        messages.extend(spans.filter_map(|piece| draft.message_at(piece.part.span)));
        messages.sort_unstable();
        messages.dedup();
    }
    messages
}

/// A question without the rules that were broken for good: nothing can be proven about those.
fn without_broken_rules(mut question: CheckOptions, report: &Report) -> CheckOptions {
    let mut rules: RuleSet = question.rules;
    for finding in &report.findings {
        rules.remove(finding.rule.code);
    }
    question.rules = rules;
    question
}

fn measure_size(reading: &OutlinedDocument<'_>, weights: &TokenWeights) -> HistorySize {
    let draft = &reading.draft;
    let pairing = pair_calls(draft);
    HistorySize {
        messages: draft.messages.len(),
        units: split_units(draft, &pairing).len(),
        calls: pairing.calls.len(),
        tokens: weights.total(),
        surroundings: weights.overhead,
    }
}
