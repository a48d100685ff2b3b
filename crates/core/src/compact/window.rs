//! Keeps the first message and removes a fraction of what follows it. Where instructions come first,
//! what the user said last stays as well: no history is left without the user.
//!
//! The count is rounded down to an even number, as it always was where user and assistant take
//! turns; then the cut moves to the nearest edge of a unit. If that edge would leave everything in
//! place although there is too much, the next one is taken.

use super::{
    budget,
    plan::{CompactionInput, CompactionPlan, DropReason, HistoryCut, ShrinkError, TokenLimits},
    units::{Unit, UnitHold, unit_at},
};
use crate::draft::{Message, Part, PartKind};

/// Plans a cut. With limits, cuts until they hold; without, once.
///
/// # Errors
/// If limits are given and what has to stay does not fit.
pub fn plan_window(
    scene: &mut CompactionInput<'_, '_>,
    fraction: HistoryFraction,
    limits: Option<TokenLimits>,
) -> Result<CompactionPlan, ShrinkError> {
    let total = scene.weights.total();
    if limits.is_some_and(|limits| total <= limits.max_tokens()) {
        return Ok(CompactionPlan::unchanged(scene));
    }
    hold_ends(scene);
    let mut plan = CompactionPlan::unchanged(scene);
    let mut cutter = WindowCutter::new(scene, fraction, limits.is_some());
    while let Some(cut) = cutter.next_cut() {
        for unit in cutter.units_to_drop(cut.actual) {
            plan.drop_unit(scene, unit, DropReason::Oldest);
        }
        let asked = plan.cut.map_or(cut.requested, |first| first.requested);
        plan.cut = Some(HistoryCut { requested: asked, actual: cut.actual });
        if limits.is_none_or(|limits| plan.expected <= limits.goal()) {
            return Ok(plan);
        }
    }
    match limits {
        Some(limits) => budget::shrink_to_fit(scene, plan, limits),
        None => Ok(plan),
    }
}

/// A share of a history between 0 and 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistoryFraction(f64);

impl HistoryFraction {
    /// Half.
    pub const HALF: HistoryFraction = HistoryFraction(0.5);

    /// A share, if it is one.
    pub fn new(share: f64) -> Option<HistoryFraction> {
        (0.0..=1.0).contains(&share).then_some(HistoryFraction(share))
    }

    /// So much of a count, rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count lies between zero and that count"
    )]
    pub fn of(self, count: u64) -> u64 {
        ((count as f64 * self.0).floor() as u64).min(count)
    }

    /// So many of so many messages, rounded down.
    fn of_messages(self, count: usize) -> usize {
        usize::try_from(self.of(count as u64)).unwrap_or(count)
    }
}

/// Cuts again and again, each time what is left of the history.
struct WindowCutter<'c> {
    units: &'c [Unit],
    count: usize,
    fraction: HistoryFraction,
    /// Something has to go, even if the fraction rounds to nothing.
    must_drop: bool,
    /// The first message that is still there behind message 0.
    from: usize,
    /// The first unit that has not been passed.
    unit: usize,
    /// The end of the last unit that can go.
    end: usize,
}

impl<'c> WindowCutter<'c> {
    fn new(
        scene: &'c CompactionInput<'_, '_>,
        fraction: HistoryFraction,
        must: bool,
    ) -> WindowCutter<'c> {
        let count = scene.transcript.draft().messages.len();
        let last = scene.units.iter().rev().find(|unit| unit.hold == UnitHold::Free);
        let end = last.map_or(0, |unit| unit.messages.end);
        WindowCutter {
            units: &scene.units,
            count,
            fraction,
            must_drop: must,
            from: 1,
            unit: 0,
            end,
        }
    }

    /// Where the next cut falls; `None` if nothing can go.
    fn next_cut(&mut self) -> Option<HistoryCut> {
        let left = self.units.get(self.unit..).unwrap_or(&[]);
        let kept = |unit: &&Unit| unit.hold != UnitHold::Free || unit.messages.start < self.from;
        self.unit += left.iter().take_while(kept).count();
        // The first unit that can go: a cut in front of its end gains nothing.
        let first = self.units.get(self.unit)?.messages.end;
        let raw = self.fraction.of_messages(self.count.checked_sub(self.from)?);
        let asked = self.from + raw - raw % 2;
        if asked == self.from && !self.must_drop {
            return None;
        }
        let edges = match unit_at(self.units, asked) {
            Some(at) => self.units.get(at).map(|unit| unit.messages.clone())?,
            None => self.count..self.count,
        };
        let nearest =
            if asked - edges.start <= edges.end - asked { edges.start } else { edges.end };
        Some(HistoryCut { requested: asked, actual: nearest.max(first).min(self.end) })
    }

    /// Passes the units in front of a cut and yields those that go.
    fn units_to_drop(&mut self, made: usize) -> impl Iterator<Item = &'c Unit> + use<'c> {
        let left = self.units.get(self.unit..).unwrap_or(&[]);
        let passed = left.partition_point(|unit| unit.messages.end <= made);
        self.unit += passed;
        self.from = made;
        left.iter().take(passed).filter(|unit| unit.hold == UnitHold::Free)
    }
}

/// The first message, the newest unit and one message of the user stay.
fn hold_ends(scene: &mut CompactionInput<'_, '_>) {
    let last = scene.units.len().saturating_sub(1);
    let draft = scene.transcript.draft();
    let asks = |message: &Message| {
        let words = |part: &Part<'_>| !matches!(part.kind, PartKind::Answer(_));
        message.role.is_user() && draft.parts_of(message).iter().any(words)
    };
    let asked = match draft.messages.first() {
        Some(first) if asks(first) => None,
        _ => draft.messages.iter().rposition(asks).and_then(|at| unit_at(&scene.units, at)),
    };
    for (at, hold) in
        [(0, UnitHold::First), (last, UnitHold::End), (asked.unwrap_or(0), UnitHold::Last)]
    {
        if let Some(unit) = scene.units.get_mut(at)
            && unit.hold == UnitHold::Free
        {
            unit.hold = hold;
        }
    }
}
