//! Keeps the newest units that fit, and pinned ones.

use super::{
    elide,
    plan::{
        CompactionInput, CompactionPace, CompactionPlan, DropReason, HistoryCut, ShrinkError,
        TokenLimits,
    },
    units::{Unit, UnitHold},
};
use crate::sorting::sort_by_key;

/// Plans to drop the oldest units until the rest fits. Shrinks answers in units that have to stay
/// and are too large.
///
/// # Errors
/// If what has to stay does not fit, even fully shrunk.
pub fn plan_budget(
    input: &mut CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(input);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    if limits.pace() == CompactionPace::Incremental {
        let mut incremental = IncrementalBudget::new(input, limits);
        incremental.grow();
        plan = incremental.plan;
        plan.cut = budget_cut(input, &plan, limits.goal());
        input.hold_ends(true);
        return shrink_to_fit(input, plan, limits);
    }
    input.hold_ends(true);
    for unit in input.units.iter().filter(|unit| unit.hold == UnitHold::Free) {
        if plan.expected <= limits.goal() {
            break;
        }
        plan.drop_unit(input, unit, DropReason::Oldest);
    }
    plan.cut = budget_cut(input, &plan, limits.goal());
    shrink_to_fit(input, plan, limits)
}

/// Where a cut between messages would have been, and the actual one: after the last dropped unit.
fn budget_cut(
    input: &CompactionInput<'_, '_>,
    plan: &CompactionPlan,
    goal: u64,
) -> Option<HistoryCut> {
    let last = plan.dropped.last()?.messages.clone();
    let mut remaining = goal.saturating_sub(plan.expected);
    let fits = |&message: &usize| match remaining.checked_sub(input.weights.of_message(message)) {
        Some(rest) => {
            remaining = rest;
            true
        }
        None => false,
    };
    let spared = last.clone().rev().take_while(fits).count();
    Some(HistoryCut { requested: last.end - spared, actual: last.end })
}

/// Replays the growth of a history and compacts it whenever it is too long.
struct IncrementalBudget<'p, 's, 'a> {
    input: &'p CompactionInput<'s, 'a>,
    limits: TokenLimits,
    plan: CompactionPlan,
    /// The oldest undecided unit.
    next: usize,
    /// The unit of the last user request, kept when it was the oldest that could be dropped.
    spared_unit: Option<usize>,
    /// The units of the first user input and the last user request so far.
    first: Option<usize>,
    last: Option<usize>,
}

impl<'p, 's, 'a> IncrementalBudget<'p, 's, 'a> {
    fn new(
        input: &'p CompactionInput<'s, 'a>,
        limits: TokenLimits,
    ) -> IncrementalBudget<'p, 's, 'a> {
        let plan = CompactionPlan { expected: input.weights.overhead, ..CompactionPlan::default() };
        IncrementalBudget {
            input,
            limits,
            plan,
            next: 0,
            spared_unit: None,
            first: None,
            last: None,
        }
    }

    fn grow(&mut self) {
        for (at, unit) in self.input.units.iter().enumerate() {
            self.plan.expected += self.input.tokens(unit);
            if unit.messages.clone().any(|message| self.input.is_user_input(message)) {
                self.first.get_or_insert(at);
            }
            if unit.messages.clone().any(|message| self.input.is_user_request(message)) {
                self.last = Some(at);
            }
            if self.plan.expected > self.limits.max_tokens() {
                self.shorten(at);
            }
        }
        sort_by_key(&mut self.plan.dropped, |dropped| dropped.messages.start);
    }

    /// Drops the oldest units until the goal is reached; the newest unit stays.
    fn shorten(&mut self, newest: usize) {
        if self.spared_unit.is_some() && self.spared_unit != self.last {
            let spared = self.spared_unit.take();
            spared.into_iter().for_each(|at| self.drop_unit(at));
        }
        while self.next < newest && self.plan.expected > self.limits.goal() {
            let at = self.next;
            self.next += 1;
            let free = self.input.units.get(at).is_some_and(|unit| unit.hold == UnitHold::Free);
            if Some(at) == self.last {
                self.spared_unit = Some(at).filter(|_| free && Some(at) != self.first);
            } else if free && Some(at) != self.first {
                self.drop_unit(at);
            }
        }
    }

    fn drop_unit(&mut self, at: usize) {
        if let Some(unit) = self.input.units.get(at) {
            self.plan.drop_unit(self.input, unit, DropReason::Oldest);
        }
    }
}

/// Shrinks answers inside the units that stay, until a plan fits.
pub(super) fn shrink_to_fit(
    input: &CompactionInput<'_, '_>,
    mut plan: CompactionPlan,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    // The goal is optional, the limit is not.
    if plan.expected > limits.max_tokens() {
        elide::shrink_remaining(input, &mut plan, limits.goal());
    }
    if plan.expected <= limits.max_tokens() {
        Ok(plan)
    } else {
        Err(build_shrink_error(input, plan, limits))
    }
}

/// An error that names the largest unit that stays.
pub(super) fn build_shrink_error(
    input: &CompactionInput<'_, '_>,
    plan: CompactionPlan,
    limits: TokenLimits,
) -> ShrinkError {
    let mut dropped = plan.dropped.iter().map(|dropped| dropped.messages.start).peekable();
    let mut shrunk = plan.shrunk.iter().peekable();
    let mut largest: Option<(u64, &Unit)> = None;
    for unit in &input.units {
        if dropped.next_if_eq(&unit.messages.start).is_some() {
            continue;
        }
        let mut needed = input.tokens(unit);
        while let Some(smaller) = shrunk.next_if(|shrunk| shrunk.message < unit.messages.end) {
            needed = needed.saturating_sub(elide::saved_tokens(input, smaller));
        }
        if largest.is_none_or(|(max, _)| needed > max) {
            largest = Some((needed, unit));
        }
    }
    let (needed, messages, hold) = match largest {
        Some((needed, unit)) if needed >= input.weights.overhead => {
            (needed, unit.messages.clone(), unit.hold)
        }
        _ => (input.weights.overhead, 0..0, UnitHold::Free),
    };
    let (total_needed, best_plan) = (plan.expected, Box::new(plan));
    ShrinkError { messages, hold, needed, total_needed, budget: limits.max_tokens(), best_plan }
}
