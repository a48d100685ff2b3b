//! The document between two strategies.

use std::borrow::Cow;

use foxwedge_core::sorting::sort_by_key;
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

/// The document between two strategies.
pub(super) struct CompactionState<'s> {
    source: &'s str,
    pub(super) wire: Format,
    /// The check options, without the rules that the input violates irreparably.
    pub(super) question: CheckOptions,
    /// Indexes of the input messages that must stay, in order.
    pub(super) pins: Vec<usize>,
    /// The text; borrowed from the input until something changes.
    pub(super) text: Cow<'s, str>,
    pub(super) weights: TokenWeights,
    /// For each message, the input messages it consists of; several if they were merged.
    pub(super) origins: Vec<Vec<usize>>,
    pub(super) size: HistorySize,
    /// How tool results may be shortened, with the cost of a note in tokens of this counter.
    pub(super) elision: ElisionPolicy,
    pub(super) account: CompactionAccount,
    /// Whether something outside the messages changed.
    surroundings_changed: bool,
}

impl<'s> CompactionState<'s> {
    /// Reads a document and repairs it.
    pub(super) fn new(
        source: &'s str,
        format: Format,
        settings: &CompactionSettings,
        counter: &mut dyn TokenCounter,
    ) -> Result<CompactionState<'s>, CompactError> {
        let options = settings.question;
        let document = read(source, format, outline_options(options.profile))?;
        let repair = repair(&document.draft, &options);
        let weights = weigh(&document.draft, document.frame, counter);
        let before = measure_size(&document, &weights);
        let mut pins = settings.pins.clone();
        sort_by_key(&mut pins, |pin| *pin);
        let mut state = CompactionState {
            source,
            wire: format,
            question: without_broken_rules(options, &repair.after),
            pins,
            text: Cow::Borrowed(source),
            origins: (0..before.messages).map(|at| vec![at]).collect(),
            size: before,
            elision: ElisionPolicy {
                note_tokens: shortened_text::note_cost(counter, options.policy.language),
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
            let text = document.apply(&repair).to_string();
            state.apply_change(CompactionChange::of(
                &document.draft,
                &repair,
                text,
                state.wire,
                &state.question,
                counter,
            )?);
        }
        Ok(state)
    }

    /// Applies the change that a repair made to the document.
    pub(super) fn apply_change(&mut self, change: CompactionChange) {
        let before = std::mem::take(&mut self.origins);
        let known = |at: &usize| before.get(*at).map_or(&[][..], Vec::as_slice);
        let input = |sources: &Vec<usize>| sources.iter().flat_map(known).copied().collect();
        self.origins = change.origins.iter().map(input).collect();
        self.surroundings_changed |= change.surroundings_changed;
        self.size = change.size;
        self.weights = change.weights;
        self.text = Cow::Owned(change.text);
    }

    /// Whether the document is already short enough.
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

    /// The compacted document, or why it is not short enough.
    pub(super) fn finish(
        mut self,
        settings: &CompactionSettings,
    ) -> Result<CompactedText<'s>, CompactError> {
        if let Some(limits) = settings.limits
            && self.size.tokens > limits.max_tokens()
        {
            let shortage = self.explain_excess(limits)?;
            return Err(CompactError::CannotShrink(Box::new(shortage)));
        }
        self.account.after = self.size;
        let messages = self.compacted_messages()?;
        self.record_outcomes(&messages);
        if self.text != self.source {
            let is_unchanged = |(at, message_span): (usize, &CompactedMessageSpan)| {
                message_span.unchanged && message_span.origin == Some(at)
            };
            let same = messages
                .iter()
                .enumerate()
                .take_while(|&message_span| is_unchanged(message_span))
                .count();
            let message = if self.surroundings_changed { 0 } else { same };
            let before = self.account.messages.iter().take(message).map(|(tokens, _)| tokens);
            let surroundings =
                if self.surroundings_changed { 0 } else { self.account.before.surroundings };
            let tokens = surroundings + before.sum::<u64>();
            self.account.prefix = Some(CachedPrefix { message, tokens });
        }
        Ok(CompactedText { text: self.text, messages, account: self.account })
    }

    /// The messages, each compared with the input message it comes from.
    fn compacted_messages(&self) -> Result<Vec<CompactedMessageSpan>, CompactError> {
        let options = outline_options(self.question.profile);
        let (source, old) = (self.source, read(self.source, self.wire, options)?);
        if let Cow::Borrowed(_) = self.text {
            let messages = old.draft.messages.iter().enumerate();
            let unchanged = |(at, message): (usize, &Message)| CompactedMessageSpan {
                origin: Some(at),
                unchanged: true,
                span: message.span,
            };
            return Ok(messages.map(unchanged).collect());
        }
        let new = read(&self.text, self.wire, options)?;
        let messages = new.draft.messages.iter().zip(&self.origins).map(|(message, sources)| {
            let (span, origin) = (message.span, sources.first().copied());
            let before = origin.and_then(|at| old.draft.messages.get(at));
            let unchanged =
                before.is_some_and(|before| before.span.of(source) == span.of(&self.text));
            CompactedMessageSpan { origin, unchanged, span }
        });
        Ok(messages.collect())
    }

    /// Records the outcome of every input message.
    fn record_outcomes(&mut self, messages: &[CompactedMessageSpan]) {
        let mut outcomes = vec![MessageOutcome::Removed; self.account.messages.len()];
        for (message, sources) in messages.iter().zip(&self.origins) {
            for &at in sources {
                if let Some(outcome) = outcomes.get_mut(at) {
                    *outcome = if message.unchanged {
                        MessageOutcome::Unchanged
                    } else {
                        MessageOutcome::Changed
                    };
                }
            }
        }
        for ((_, recorded), outcome) in self.account.messages.iter_mut().zip(outcomes) {
            if *recorded != MessageOutcome::Summarized || outcome != MessageOutcome::Removed {
                *recorded = outcome;
            }
        }
    }

    /// Explains why the document is still too large, by its heaviest unit.
    fn explain_excess(&self, limits: TokenLimits) -> Result<ShrinkError, CompactError> {
        let document = read(&self.text, self.wire, outline_options(self.question.profile))?;
        let weights = &self.weights;
        let units = split_units(&document.draft, &pair_calls(&document.draft));
        let heaviest = units.iter().max_by_key(|unit| weights.of(unit.messages.clone()));
        let tokens = |unit: &Unit| weights.of(unit.messages.clone());
        let excess = heaviest.filter(|unit| tokens(unit) >= weights.overhead);
        let is_last = |unit: &Unit| unit.messages.end == weights.len();
        let is_pin = |at: &usize| self.pins.binary_search(at).is_ok();
        let pinned = |unit: &Unit| {
            let sources = self.origins.get(unit.messages.clone()).unwrap_or(&[]);
            sources.iter().flatten().any(is_pin)
        };
        let is_new = |unit: &Unit| self.input_range(unit.messages.clone()).is_empty();
        let hold = |unit: &Unit| match unit.hold {
            UnitHold::Free if is_new(unit) => UnitHold::Summary,
            UnitHold::Free if pinned(unit) => UnitHold::Pinned,
            UnitHold::Free if is_last(unit) => UnitHold::End,
            hold => hold,
        };
        Ok(ShrinkError {
            messages: excess.map_or(0..0, |unit| self.input_range(unit.messages.clone())),
            hold: excess.map_or(UnitHold::Free, hold),
            needed: excess.map_or(weights.overhead, tokens),
            total_needed: self.size.tokens,
            budget: limits.max_tokens(),
            best_plan: Box::default(),
        })
    }
}

/// The change that a repair made to a document.
pub(super) struct CompactionChange {
    text: String,
    /// For each message, the messages it consists of.
    origins: Vec<Vec<usize>>,
    /// Whether something outside the messages changed.
    surroundings_changed: bool,
    weights: TokenWeights,
    size: HistorySize,
}

impl CompactionChange {
    pub(super) fn of(
        draft: &Draft<'_>,
        repair: &Repair<'_>,
        text: String,
        format: Format,
        options: &CheckOptions,
        counter: &mut dyn TokenCounter,
    ) -> Result<CompactionChange, CompactError> {
        let document = read(&text, format, outline_options(options.profile))?;
        let weights = weigh(&document.draft, document.frame, counter);
        Ok(CompactionChange {
            origins: repair
                .messages
                .iter()
                .map(|message| source_messages(draft, message))
                .collect(),
            surroundings_changed: repair.body != BodyEdits::default(),
            size: measure_size(&document, &weights),
            weights,
            text,
        })
    }

    /// Number of tokens of the document.
    pub(super) fn tokens(&self) -> u64 {
        self.size.tokens
    }
}

/// The messages that a repaired message consists of, in order.
fn source_messages(draft: &Draft<'_>, message: &RepairedMessage<'_>) -> Vec<usize> {
    let mut messages: Vec<usize> = message.origin().into_iter().collect();
    if message.is_touched() {
        let spans = message.parts.iter().filter(|part| !part.part.span.is_empty());
        messages.extend(spans.filter_map(|part| draft.message_at(part.part.span)));
        sort_by_key(&mut messages, |message| *message);
        messages.dedup();
    }
    messages
}

/// The options without the rules that are violated irreparably: these cannot be proven.
fn without_broken_rules(mut options: CheckOptions, report: &Report) -> CheckOptions {
    let mut rules: RuleSet = options.rules;
    for finding in &report.findings {
        rules.remove(finding.rule.code);
    }
    options.rules = rules;
    options
}

fn measure_size(document: &OutlinedDocument<'_>, weights: &TokenWeights) -> HistorySize {
    let draft = &document.draft;
    let pairing = pair_calls(draft);
    HistorySize {
        messages: draft.messages.len(),
        units: split_units(draft, &pairing).len(),
        calls: pairing.calls.len() + pairing.unknown_calls,
        tokens: weights.total(),
        surroundings: weights.overhead,
    }
}
