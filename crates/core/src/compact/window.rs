//! Keeps the first message and drops a fraction of the rest. Where instructions come first, the
//! last user message stays as well: every history keeps one.
//!
//! The count is rounded down to an even number, because user and assistant alternate; then the cut
//! moves to the nearest boundary of a unit. If that would drop nothing although the history is too
//! long, the next boundary is used.

use super::{
    budget,
    plan::{CompactionInput, CompactionPlan, DropReason, HistoryCut, ShrinkError, TokenLimits},
    units::{Unit, UnitHold, unit_at},
};
use crate::draft::{Message, Part, PartKind};

/// Plans a cut. With limits, cuts until they hold; otherwise once.
///
/// # Errors
/// If limits are given and what has to stay does not fit.
pub fn plan_window(
    input: &mut CompactionInput<'_, '_>,
    fraction: HistoryFraction,
    limits: Option<TokenLimits>,
) -> Result<CompactionPlan, ShrinkError> {
    let total = input.weights.total();
    if limits.is_some_and(|limits| total <= limits.max_tokens()) {
        return Ok(CompactionPlan::unchanged(input));
    }
    hold_ends(input);
    let mut plan = CompactionPlan::unchanged(input);
    let mut cutter = WindowCutter::new(input, fraction, limits.is_some());
    while let Some(cut) = cutter.next_cut() {
        for unit in cutter.units_to_drop(cut.actual) {
            plan.drop_unit(input, unit, DropReason::Oldest);
        }
        let requested = plan.cut.map_or(cut.requested, |first| first.requested);
        plan.cut = Some(HistoryCut { requested, actual: cut.actual });
        if limits.is_none_or(|limits| plan.expected <= limits.goal()) {
            return Ok(plan);
        }
    }
    match limits {
        Some(limits) => budget::shrink_to_fit(input, plan, limits),
        None => Ok(plan),
    }
}

/// A fraction of a history between 0 and 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistoryFraction(f64);

impl HistoryFraction {
    /// Half.
    pub const HALF: HistoryFraction = HistoryFraction(0.5);

    /// A fraction, if the value is between 0 and 1.
    pub fn new(fraction: f64) -> Option<HistoryFraction> {
        (0.0..=1.0).contains(&fraction).then_some(HistoryFraction(fraction))
    }

    /// This fraction of a count, rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count lies between zero and that count"
    )]
    pub fn of(self, count: u64) -> u64 {
        ((count as f64 * self.0).floor() as u64).min(count)
    }

    /// This fraction of a number of messages, rounded down.
    fn of_messages(self, count: usize) -> usize {
        usize::try_from(self.of(count as u64)).unwrap_or(count)
    }
}

/// Cuts repeatedly, each time a fraction of the remaining history.
struct WindowCutter<'c> {
    units: &'c [Unit],
    count: usize,
    fraction: HistoryFraction,
    /// Something has to be dropped, even if the fraction rounds to zero.
    must_drop: bool,
    /// The first remaining message after message 0.
    from: usize,
    /// The first unit that has not been visited.
    unit: usize,
    /// The end of the last unit that can be dropped.
    end: usize,
}

impl<'c> WindowCutter<'c> {
    fn new(
        input: &'c CompactionInput<'_, '_>,
        fraction: HistoryFraction,
        must_drop: bool,
    ) -> WindowCutter<'c> {
        let count = input.transcript.draft().messages.len();
        let last = input.units.iter().rev().find(|unit| unit.hold == UnitHold::Free);
        let end = last.map_or(0, |unit| unit.messages.end);
        WindowCutter { units: &input.units, count, fraction, must_drop, from: 1, unit: 0, end }
    }

    /// The next cut; `None` if nothing can be dropped.
    fn next_cut(&mut self) -> Option<HistoryCut> {
        let rest = self.units.get(self.unit..).unwrap_or(&[]);
        let stays = |unit: &&Unit| unit.hold != UnitHold::Free || unit.messages.start < self.from;
        self.unit += rest.iter().take_while(stays).count();
        // The first unit that can be dropped: a cut before its end gains nothing.
        let first = self.units.get(self.unit)?.messages.end;
        let raw = self.fraction.of_messages(self.count.checked_sub(self.from)?);
        let requested = self.from + raw - raw % 2;
        if requested == self.from && !self.must_drop {
            return None;
        }
        let boundaries = match unit_at(self.units, requested) {
            Some(at) => self.units.get(at).map(|unit| unit.messages.clone())?,
            None => self.count..self.count,
        };
        let nearest = if requested - boundaries.start <= boundaries.end - requested {
            boundaries.start
        } else {
            boundaries.end
        };
        Some(HistoryCut { requested, actual: nearest.max(first).min(self.end) })
    }

    /// Skips the units before a cut and yields those to drop.
    fn units_to_drop(&mut self, cut: usize) -> impl Iterator<Item = &'c Unit> + use<'c> {
        let rest = self.units.get(self.unit..).unwrap_or(&[]);
        let count = rest.partition_point(|unit| unit.messages.end <= cut);
        self.unit += count;
        self.from = cut;
        rest.iter().take(count).filter(|unit| unit.hold == UnitHold::Free)
    }
}

/// Holds the first message, the newest unit and one user message.
fn hold_ends(input: &mut CompactionInput<'_, '_>) {
    let last = input.units.len().saturating_sub(1);
    let draft = input.transcript.draft();
    let has_user_input = |message: &Message| {
        let not_answer = |part: &Part<'_>| !matches!(part.kind, PartKind::Answer(_));
        message.role.is_user() && draft.parts_of(message).iter().any(not_answer)
    };
    let user_unit = match draft.messages.first() {
        Some(first) if has_user_input(first) => None,
        _ => {
            draft.messages.iter().rposition(has_user_input).and_then(|at| unit_at(&input.units, at))
        }
    };
    for (at, hold) in
        [(0, UnitHold::First), (last, UnitHold::End), (user_unit.unwrap_or(0), UnitHold::Last)]
    {
        if let Some(unit) = input.units.get_mut(at)
            && unit.hold == UnitHold::Free
        {
            unit.hold = hold;
        }
    }
}
