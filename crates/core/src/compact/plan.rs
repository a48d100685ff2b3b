//! What a strategy decided, and what it looked at.

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
use crate::transcript::Transcript;

/// What a strategy is given: a sound history, cut into units and weighed.
#[derive(Debug)]
pub struct CompactionInput<'s, 'a> {
    /// The history.
    pub transcript: &'s Transcript<'a>,
    /// What belongs together, and what has to stay.
    pub units: Vec<Unit>,
    /// Tokens.
    pub weights: &'s TokenWeights,
    /// What calls were about; may be empty, and then nothing is known.
    pub clues: &'s HistoryClues,
    /// What may happen to answers.
    pub elision: &'s ElisionPolicy,
    /// Units that somebody asked for, whatever else holds them, in order.
    pinned: Vec<usize>,
}

impl<'s, 'a> CompactionInput<'s, 'a> {
    /// Cuts a history into units. The messages `pins` stay, whatever happens.
    pub fn new(
        transcript: &'s Transcript<'a>,
        weights: &'s TokenWeights,
        clues: &'s HistoryClues,
        elision: &'s ElisionPolicy,
        pins: &[usize],
    ) -> CompactionInput<'s, 'a> {
        let mut units = split_units(transcript.draft(), transcript.pairing());
        let mut pinned: Vec<usize> = pins.iter().filter_map(|&pin| unit_at(&units, pin)).collect();
        pinned.sort_unstable();
        pinned.dedup();
        for &at in &pinned {
            if let Some(unit) = units.get_mut(at).filter(|unit| unit.hold == UnitHold::Free) {
                unit.hold = UnitHold::Pinned;
            }
        }
        CompactionInput { transcript, units, weights, clues, elision, pinned }
    }

    /// The messages that somebody asked for, in order.
    pub(super) fn pinned(&self) -> impl Iterator<Item = Range<usize>> {
        let units = self.pinned.iter().filter_map(|&at| self.units.get(at));
        units.map(|unit| unit.messages.clone())
    }

    /// Tokens of a unit.
    pub fn tokens(&self, unit: &Unit) -> u64 {
        self.weights.of(unit.messages.clone())
    }

    /// Holds the newest unit, and what the user said first and last.
    pub(super) fn hold_ends(&mut self, first: bool) {
        let wishes = |unit: &Unit| unit.messages.clone().any(|message| self.is_user_input(message));
        // A summary stands for what was said first, and for nothing that was said last.
        let asks = |unit: &Unit| unit.messages.clone().any(|message| self.is_user_request(message));
        let last = self.units.iter().rposition(asks);
        let first = self.units.iter().position(wishes).filter(|_| first);
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

    /// The first of the newest units that fit into so many tokens.
    pub(super) fn newest(&self, tokens: u64) -> usize {
        let mut left = tokens;
        let fits = |unit: &&Unit| match left.checked_sub(self.tokens(unit)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        self.units.len() - self.units.iter().rev().take_while(fits).count()
    }

    /// Whether a user says something in a message.
    pub(super) fn is_user_input(&self, message: usize) -> bool {
        user_part(self.transcript.draft(), message).is_some()
    }

    /// Whether a user asks for something: a wish that is no summary.
    pub(super) fn is_user_request(&self, message: usize) -> bool {
        user_request(self.transcript.draft(), message).is_some()
    }
}

/// How many tokens a history may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenLimits {
    max_tokens: u64,
    goal: u64,
    pace: CompactionPace,
}

/// Whether a history is shortened once, or over and over as it grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CompactionPace {
    /// What goes is decided by the whole history.
    #[default]
    WholeHistory,
    /// What goes is decided as if the history had been shortened whenever it grew too long. Whoever
    /// gets the whole history each time (a gateway) then sends the same beginning each time, until
    /// it grows too long once more. Known to `budget` and `elide`; the others decide once.
    Incremental,
}

impl TokenLimits {
    /// Above `most` tokens something has to happen, and then it shrinks to `goal`: a lower mark
    /// makes compactions, and with them lost prompt caches, rarer. The goal is never above `most`.
    pub fn new(most: u64, goal: u64) -> TokenLimits {
        TokenLimits { max_tokens: most, goal: goal.min(most), pace: CompactionPace::WholeHistory }
    }

    /// The same mark for both.
    pub fn exactly(tokens: u64) -> TokenLimits {
        TokenLimits::new(tokens, tokens)
    }

    /// The limits of a model: above `threshold` of what its window leaves beside a reply something
    /// has to happen, and then two thirds of that are the goal.
    pub fn of_window(window: u64, reserve: u64, threshold: HistoryFraction) -> TokenLimits {
        let most = threshold.of(window.saturating_sub(reserve));
        TokenLimits::new(most, most / 3 * 2)
    }

    /// The same limits at another pace.
    #[must_use]
    pub fn with_pace(self, pace: CompactionPace) -> TokenLimits {
        TokenLimits { pace, ..self }
    }

    /// Above this something has to happen.
    pub fn max_tokens(self) -> u64 {
        self.max_tokens
    }

    /// It shrinks to this.
    pub fn goal(self) -> u64 {
        self.goal
    }

    /// Once, or as it grows.
    pub fn pace(self) -> CompactionPace {
        self.pace
    }

    /// Both marks lower by so much.
    #[must_use]
    pub fn reduce_by(self, by: u64) -> TokenLimits {
        let (most, goal) = (self.max_tokens.saturating_sub(by), self.goal.saturating_sub(by));
        TokenLimits { max_tokens: most, goal, ..self }
    }
}

/// What shall go, what shall shrink. Nothing else changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactionPlan {
    /// The units that go, in order.
    pub dropped: Vec<DroppedUnit>,
    /// The answers that shrink, in order.
    pub shrunk: Vec<ShrunkAnswer>,
    /// A summary takes the place of the first unit that goes.
    pub condense: bool,
    /// Where a cut was asked for and where it was made.
    pub cut: Option<HistoryCut>,
    /// Tokens that are expected to be left.
    pub expected: u64,
}

impl CompactionPlan {
    /// Whether nothing shall happen.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.shrunk.is_empty()
    }

    /// Nothing shall happen.
    pub(super) fn unchanged(scene: &CompactionInput<'_, '_>) -> CompactionPlan {
        CompactionPlan { expected: scene.weights.total(), ..CompactionPlan::default() }
    }

    /// A unit goes.
    pub(super) fn drop_unit(
        &mut self,
        scene: &CompactionInput<'_, '_>,
        unit: &Unit,
        why: DropReason,
    ) {
        let tokens = scene.tokens(unit);
        self.expected = self.expected.saturating_sub(tokens);
        self.dropped.push(DroppedUnit { messages: unit.messages.clone(), tokens, reason: why });
    }

    /// The first message that changes or goes: from there on a prompt cache is lost.
    pub fn first_change(&self) -> Option<usize> {
        let gone = self.dropped.first().map(|gone| gone.messages.start);
        let shrunk = self.shrunk.first().map(|shrunk| shrunk.message);
        gone.into_iter().chain(shrunk).min()
    }
}

/// A unit that goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedUnit {
    /// Its messages.
    pub messages: Range<usize>,
    /// Its tokens.
    pub tokens: u64,
    /// Why this one.
    pub reason: DropReason,
}

/// Why a unit goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// It was the oldest that could go.
    Oldest,
    /// A summary stands for it.
    Condensed,
    /// It mattered least.
    Unimportant(UnitScore),
}

/// An answer that shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShrunkAnswer {
    /// Index of its message.
    pub message: usize,
    /// Index of its part.
    pub part: usize,
    /// Its tokens.
    pub tokens: u64,
    /// What is left of it.
    pub keep: AnswerRemainder,
}

/// What is left of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerRemainder {
    /// All its text, without its images and files.
    Text,
    /// About so many tokens of its beginning and end.
    Ends(u32),
    /// Nothing but a note.
    Note,
}

/// A cut that was asked for, and the one that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryCut {
    /// Asked for: everything before this message should go.
    pub requested: usize,
    /// Made: at the edge of a unit.
    pub actual: usize,
}

/// Why a history cannot become as short as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShrinkError {
    /// The heaviest thing that has to stay.
    pub messages: Range<usize>,
    /// Why it has to.
    pub hold: UnitHold,
    /// What it needs, shrunk as far as it goes.
    pub needed: u64,
    /// What everything that has to stay needs.
    pub total_needed: u64,
    /// What was allowed.
    pub budget: u64,
    /// What could be done all the same.
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
                _ => "what stands around the messages",
            };
            return write!(
                f,
                "{what} needs {needs} tokens, all that has to stay {least}, and {budget} are allowed"
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
                "this one unit ({place}{why}) needs {needs} tokens, and {budget} are allowed"
            );
        }
        write!(
            f,
            "all that has to stay needs {least} tokens, and {budget} are allowed; the largest unit ({place}{why}) needs {needs}"
        )
    }
}

impl std::error::Error for ShrinkError {}
