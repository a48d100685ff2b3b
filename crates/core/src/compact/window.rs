//! Keeps the first message and removes a fraction of what follows it. Where instructions come first,
//! what the user said last stays as well: no history is left without the user.
//!
//! The count is rounded down to an even number, as it always was where user and assistant take
//! turns; then the cut moves to the nearest edge of a unit. If that edge would leave everything in
//! place although there is too much, the next one is taken.

use super::{
    budget,
    plan::{CannotShrink, Cut, Limits, Plan, Scene, Why},
    units::{Hold, Unit, unit_at},
};
use crate::draft::{Kind, Message, Part};

/// Plans a cut. With limits, cuts until they hold; without, once.
///
/// # Errors
/// If limits are given and what has to stay does not fit.
pub fn window(
    scene: &mut Scene<'_, '_>,
    fraction: Fraction,
    limits: Option<Limits>,
) -> Result<Plan, CannotShrink> {
    let total = scene.weights.total();
    if limits.is_some_and(|limits| total <= limits.most()) {
        return Ok(Plan::nothing(scene));
    }
    hold_ends(scene);
    let mut plan = Plan::nothing(scene);
    let mut cutter = Cutter::new(scene, fraction, limits.is_some());
    while let Some(cut) = cutter.next() {
        for unit in cutter.pass(cut.made) {
            plan.drop(scene, unit, Why::Oldest);
        }
        let asked = plan.cut.map_or(cut.asked, |first| first.asked);
        plan.cut = Some(Cut { asked, made: cut.made });
        if limits.is_none_or(|limits| plan.expected <= limits.goal()) {
            return Ok(plan);
        }
    }
    match limits {
        Some(limits) => budget::inside(scene, plan, limits),
        None => Ok(plan),
    }
}

/// A share of a history between 0 and 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fraction(f64);

impl Fraction {
    /// Half.
    pub const HALF: Fraction = Fraction(0.5);

    /// A share, if it is one.
    pub fn new(share: f64) -> Option<Fraction> {
        (0.0..=1.0).contains(&share).then_some(Fraction(share))
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
struct Cutter<'c> {
    units: &'c [Unit],
    count: usize,
    fraction: Fraction,
    /// Something has to go, even if the fraction rounds to nothing.
    must: bool,
    /// The first message that is still there behind message 0.
    from: usize,
    /// The first unit that has not been passed.
    unit: usize,
    /// The end of the last unit that can go.
    end: usize,
}

impl<'c> Cutter<'c> {
    fn new(scene: &'c Scene<'_, '_>, fraction: Fraction, must: bool) -> Cutter<'c> {
        let count = scene.transcript.draft().messages.len();
        let last = scene.units.iter().rev().find(|unit| unit.hold == Hold::Free);
        let end = last.map_or(0, |unit| unit.messages.end);
        Cutter { units: &scene.units, count, fraction, must, from: 1, unit: 0, end }
    }

    /// Where the next cut falls; `None` if nothing can go.
    fn next(&mut self) -> Option<Cut> {
        let left = self.units.get(self.unit..).unwrap_or(&[]);
        let kept = |unit: &&Unit| unit.hold != Hold::Free || unit.messages.start < self.from;
        self.unit += left.iter().take_while(kept).count();
        // The first unit that can go: a cut in front of its end gains nothing.
        let first = self.units.get(self.unit)?.messages.end;
        let raw = self.fraction.of_messages(self.count.checked_sub(self.from)?);
        let asked = self.from + raw - raw % 2;
        if asked == self.from && !self.must {
            return None;
        }
        let edges = match unit_at(self.units, asked) {
            Some(at) => self.units.get(at).map(|unit| unit.messages.clone())?,
            None => self.count..self.count,
        };
        let nearest =
            if asked - edges.start <= edges.end - asked { edges.start } else { edges.end };
        Some(Cut { asked, made: nearest.max(first).min(self.end) })
    }

    /// Passes the units in front of a cut and yields those that go.
    fn pass(&mut self, made: usize) -> impl Iterator<Item = &'c Unit> + use<'c> {
        let left = self.units.get(self.unit..).unwrap_or(&[]);
        let passed = left.partition_point(|unit| unit.messages.end <= made);
        self.unit += passed;
        self.from = made;
        left.iter().take(passed).filter(|unit| unit.hold == Hold::Free)
    }
}

/// The first message, the newest unit and one message of the user stay.
fn hold_ends(scene: &mut Scene<'_, '_>) {
    let last = scene.units.len().saturating_sub(1);
    let draft = scene.transcript.draft();
    let asks = |message: &Message| {
        let words = |part: &Part<'_>| !matches!(part.kind, Kind::Answer(_));
        message.role.is_user() && draft.parts_of(message).iter().any(words)
    };
    let asked = match draft.messages.first() {
        Some(first) if asks(first) => None,
        _ => draft.messages.iter().rposition(asks).and_then(|at| unit_at(&scene.units, at)),
    };
    for (at, hold) in [(0, Hold::First), (last, Hold::End), (asked.unwrap_or(0), Hold::Last)] {
        if let Some(unit) = scene.units.get_mut(at)
            && unit.hold == Hold::Free
        {
            unit.hold = hold;
        }
    }
}
