//! The input and the result of a compaction strategy.

use std::ops::Range;

use super::{
    clues::HistoryClues,
    elide::ElisionPolicy,
    score::UnitScore,
    units::{Unit, UnitHold, split_units, unit_at},
    user_input::{user_part, user_request},
    weights::TokenWeights,
    window::HistoryFraction,
};
use crate::sorting::sort_by_key;
use crate::transcript::Transcript;

/// The input of a strategy: a valid history, split into units, with token weights.
#[derive(Debug)]
pub struct CompactionInput<'s, 'a> {
    /// The history.
    pub transcript: &'s Transcript<'a>,
    /// Its units, and which of them have to stay.
    pub units: Vec<Unit>,
    /// Token weights.
    pub weights: &'s TokenWeights,
    /// What is known about the calls; may be empty.
    pub clues: &'s HistoryClues,
    /// How answers may shrink.
    pub elision: &'s ElisionPolicy,
    /// Units that the caller pinned, whatever else holds them, in order.
    pinned: Vec<usize>,
}

impl<'s, 'a> CompactionInput<'s, 'a> {
    /// Splits a history into units. The messages `pins` always stay.
    pub fn new(
        transcript: &'s Transcript<'a>,
        weights: &'s TokenWeights,
        clues: &'s HistoryClues,
        elision: &'s ElisionPolicy,
        pins: &[usize],
    ) -> CompactionInput<'s, 'a> {
        let mut units = split_units(transcript.draft(), transcript.pairing());
        let mut pinned: Vec<usize> = pins.iter().filter_map(|&pin| unit_at(&units, pin)).collect();
        sort_by_key(&mut pinned, |unit| *unit);
        pinned.dedup();
        for &at in &pinned {
            if let Some(unit) = units.get_mut(at).filter(|unit| unit.hold == UnitHold::Free) {
                unit.hold = UnitHold::Pinned;
            }
        }
        CompactionInput { transcript, units, weights, clues, elision, pinned }
    }

    /// The messages of pinned units, in order.
    pub(super) fn pinned(&self) -> impl Iterator<Item = Range<usize>> {
        let units = self.pinned.iter().filter_map(|&at| self.units.get(at));
        units.map(|unit| unit.messages.clone())
    }

    /// Tokens of a unit.
    pub fn tokens(&self, unit: &Unit) -> u64 {
        self.weights.of(unit.messages.clone())
    }

    /// Holds the newest unit, the last user request and, if `first`, the first user input.
    pub(super) fn hold_ends(&mut self, first: bool) {
        let has_input =
            |unit: &Unit| unit.messages.clone().any(|message| self.is_user_input(message));
        // A summary counts as the first user input, but not as the last user request.
        let has_request =
            |unit: &Unit| unit.messages.clone().any(|message| self.is_user_request(message));
        let last = self.units.iter().rposition(has_request);
        let first = self.units.iter().position(has_input).filter(|_| first);
        let end = self.units.len().checked_sub(1);
        let holds = [(first, UnitHold::First), (last, UnitHold::Last), (end, UnitHold::End)];
        for (unit, hold) in holds {
            if let Some(unit) = unit.and_then(|at| self.units.get_mut(at))
                && unit.hold == UnitHold::Free
            {
                unit.hold = hold;
            }
        }
    }

    /// The index of the first of the newest units that fit into `tokens`.
    pub(super) fn newest(&self, tokens: u64) -> usize {
        let mut remaining = tokens;
        let fits = |unit: &&Unit| match remaining.checked_sub(self.tokens(unit)) {
            Some(rest) => {
                remaining = rest;
                true
            }
            None => false,
        };
        self.units.len() - self.units.iter().rev().take_while(fits).count()
    }

    /// Whether a message has user input.
    pub(super) fn is_user_input(&self, message: usize) -> bool {
        user_part(self.transcript.draft(), message).is_some()
    }

    /// Whether a message has user input that is not a summary.
    pub(super) fn is_user_request(&self, message: usize) -> bool {
        user_request(self.transcript.draft(), message).is_some()
    }
}

/// The token limits of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenLimits {
    max_tokens: u64,
    goal: u64,
    pace: CompactionPace,
}

/// Whether a history is compacted once, or repeatedly as it grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CompactionPace {
    /// The whole history decides what to drop.
    #[default]
    WholeHistory,
    /// Decides as if the history had been compacted whenever it grew too long. A caller that gets
    /// the whole history each time (a gateway) then sends the same prefix each time, until the
    /// history is too long again. Used by `budget` and `elide`; the other strategies decide once.
    Incremental,
}

impl TokenLimits {
    /// Above `max_tokens` a history is compacted to `goal` tokens: a lower goal makes compactions,
    /// and with them lost prompt caches, rarer. The goal is never above `max_tokens`.
    pub fn new(max_tokens: u64, goal: u64) -> TokenLimits {
        TokenLimits { max_tokens, goal: goal.min(max_tokens), pace: CompactionPace::WholeHistory }
    }

    /// The same value for maximum and goal.
    pub fn exactly(tokens: u64) -> TokenLimits {
        TokenLimits::new(tokens, tokens)
    }

    /// The limits of a model: the maximum is `threshold` of its window minus the reserve for a
    /// reply; the goal is two thirds of the maximum.
    pub fn of_window(window: u64, reserve: u64, threshold: HistoryFraction) -> TokenLimits {
        let max_tokens = threshold.of(window.saturating_sub(reserve));
        TokenLimits::new(max_tokens, max_tokens / 3 * 2)
    }

    /// The same limits at another pace.
    #[must_use]
    pub fn with_pace(self, pace: CompactionPace) -> TokenLimits {
        TokenLimits { pace, ..self }
    }

    /// Above this number of tokens, a history is compacted.
    pub fn max_tokens(self) -> u64 {
        self.max_tokens
    }

    /// The number of tokens after a compaction.
    pub fn goal(self) -> u64 {
        self.goal
    }

    /// Whether to compact once, or as the history grows.
    pub fn pace(self) -> CompactionPace {
        self.pace
    }

    /// Both limits reduced by `by` tokens.
    #[must_use]
    pub fn reduce_by(self, by: u64) -> TokenLimits {
        let (max_tokens, goal) = (self.max_tokens.saturating_sub(by), self.goal.saturating_sub(by));
        TokenLimits { max_tokens, goal, ..self }
    }
}

/// What to drop and what to shrink. Nothing else changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactionPlan {
    /// The units to drop, in order.
    pub dropped: Vec<DroppedUnit>,
    /// The answers to shrink, in order.
    pub shrunk: Vec<ShrunkAnswer>,
    /// A summary replaces the first dropped unit.
    pub condense: bool,
    /// The requested and the actual cut.
    pub cut: Option<HistoryCut>,
    /// The expected number of remaining tokens.
    pub expected: u64,
}

impl CompactionPlan {
    /// Whether the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.shrunk.is_empty()
    }

    /// A plan that changes nothing.
    pub(super) fn unchanged(input: &CompactionInput<'_, '_>) -> CompactionPlan {
        CompactionPlan { expected: input.weights.total(), ..CompactionPlan::default() }
    }

    /// Drops a unit.
    pub(super) fn drop_unit(
        &mut self,
        input: &CompactionInput<'_, '_>,
        unit: &Unit,
        reason: DropReason,
    ) {
        let tokens = input.tokens(unit);
        self.expected = self.expected.saturating_sub(tokens);
        self.dropped.push(DroppedUnit { messages: unit.messages.clone(), tokens, reason });
    }

    /// The first message that changes or is dropped: a prompt cache is lost from there on.
    pub fn first_change(&self) -> Option<usize> {
        let dropped = self.dropped.first().map(|dropped| dropped.messages.start);
        let shrunk = self.shrunk.first().map(|shrunk| shrunk.message);
        dropped.into_iter().chain(shrunk).min()
    }
}

/// A unit to drop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedUnit {
    /// Its messages.
    pub messages: Range<usize>,
    /// Its tokens.
    pub tokens: u64,
    /// Why it is dropped.
    pub reason: DropReason,
}

/// Why a unit is dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// It was the oldest that could be dropped.
    Oldest,
    /// A summary replaces it.
    Condensed,
    /// It has the lowest score.
    Unimportant(UnitScore),
}

/// An answer to shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShrunkAnswer {
    /// Index of its message.
    pub message: usize,
    /// Index of its part.
    pub part: usize,
    /// Its tokens.
    pub tokens: u64,
    /// What remains of it.
    pub keep: AnswerRemainder,
}

/// What remains of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerRemainder {
    /// All its text, without its images and files.
    Text,
    /// About this many tokens of its beginning and end.
    Ends(u32),
    /// Only a note.
    Note,
}

/// A requested cut and the actual one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryCut {
    /// Everything before this message should be dropped.
    pub requested: usize,
    /// The actual cut, at the boundary of a unit.
    pub actual: usize,
}

/// A history cannot become as short as required.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShrinkError {
    /// The largest unit that has to stay.
    pub messages: Range<usize>,
    /// Why it has to stay.
    pub hold: UnitHold,
    /// The tokens it needs, fully shrunk.
    pub needed: u64,
    /// The tokens that everything that has to stay needs.
    pub total_needed: u64,
    /// The allowed tokens.
    pub budget: u64,
    /// The best plan that was possible.
    pub best_plan: Box<CompactionPlan>,
}

impl std::fmt::Display for ShrinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ShrinkError {
            messages,
            hold,
            needed: needs,
            total_needed: least,
            budget,
            best_plan: _,
        } = self;
        f.write_str("cannot shrink: ")?;
        let Some(last) = messages.clone().last() else {
            let what = match hold {
                UnitHold::Summary => "the summary",
                _ => "the request without its messages",
            };
            return write!(
                f,
                "{what} needs {needs} tokens, everything that must stay needs {least}, and the \
                 budget is {budget}"
            );
        };
        let place = match messages.len() {
            1 => format!("message {last}"),
            _ => format!("messages {}–{last}", messages.start),
        };
        let why = match hold {
            UnitHold::Free => String::new(),
            hold => format!(", {}", hold.name()),
        };
        if needs > budget {
            return write!(
                f,
                "one unit ({place}{why}) needs {needs} tokens, and the budget is {budget}"
            );
        }
        write!(
            f,
            "everything that must stay needs {least} tokens, and the budget is {budget}; the \
             largest unit ({place}{why}) needs {needs}"
        )
    }
}

impl std::error::Error for ShrinkError {}
