//! Keeps the newest units that fit, and what is pinned.

use super::{
    elide,
    plan::{
        CompactionInput, CompactionPace, CompactionPlan, DropReason, HistoryCut, ShrinkError,
        TokenLimits,
    },
    units::{Unit, UnitHold},
};

/// Plans to drop the oldest units until the rest fits. What has to stay and is too large by itself
/// is shrunk inside.
///
/// # Errors
/// If what has to stay does not fit, shrunk as far as it goes.
pub fn plan_budget(
    scene: &mut CompactionInput<'_, '_>,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(scene);
    if plan.expected <= limits.max_tokens() {
        return Ok(plan);
    }
    if limits.pace() == CompactionPace::Incremental {
        let mut steady = IncrementalBudget::new(scene, limits);
        steady.grow();
        plan = steady.plan;
        plan.cut = budget_cut(scene, &plan, limits.goal());
        scene.hold_ends(true);
        return shrink_to_fit(scene, plan, limits);
    }
    scene.hold_ends(true);
    for unit in scene.units.iter().filter(|unit| unit.hold == UnitHold::Free) {
        if plan.expected <= limits.goal() {
            break;
        }
        plan.drop_unit(scene, unit, DropReason::Oldest);
    }
    plan.cut = budget_cut(scene, &plan, limits.goal());
    shrink_to_fit(scene, plan, limits)
}

/// Where a cut from message to message would have fallen, and where it was made: behind the last
/// unit that goes.
fn budget_cut(
    scene: &CompactionInput<'_, '_>,
    plan: &CompactionPlan,
    goal: u64,
) -> Option<HistoryCut> {
    let last = plan.dropped.last()?.messages.clone();
    let mut left = goal.saturating_sub(plan.expected);
    let fits = |&message: &usize| match left.checked_sub(scene.weights.of_message(message)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let spared = last.clone().rev().take_while(fits).count();
    Some(HistoryCut { requested: last.end - spared, actual: last.end })
}

/// A history that grows from nothing, shortened whenever it is too long.
struct IncrementalBudget<'p, 's, 'a> {
    input: &'p CompactionInput<'s, 'a>,
    limits: TokenLimits,
    plan: CompactionPlan,
    /// The oldest unit that nobody has decided about.
    next: usize,
    /// What the user said last, when it was the oldest that could go.
    spared_unit: Option<usize>,
    /// What the user said first and last so far.
    first: Option<usize>,
    last: Option<usize>,
}

impl<'p, 's, 'a> IncrementalBudget<'p, 's, 'a> {
    fn new(
        scene: &'p CompactionInput<'s, 'a>,
        limits: TokenLimits,
    ) -> IncrementalBudget<'p, 's, 'a> {
        let plan = CompactionPlan { expected: scene.weights.overhead, ..CompactionPlan::default() };
        IncrementalBudget {
            input: scene,
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
        self.plan.dropped.sort_by_key(|gone| gone.messages.start);
    }

    /// Drops the oldest until the goal is reached; the newest unit stays.
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
    scene: &CompactionInput<'_, '_>,
    mut plan: CompactionPlan,
    limits: TokenLimits,
) -> Result<CompactionPlan, ShrinkError> {
    // The goal is a wish, the limit is not.
    if plan.expected > limits.max_tokens() {
        elide::shrink_remaining(scene, &mut plan, limits.goal());
    }
    if plan.expected <= limits.max_tokens() {
        Ok(plan)
    } else {
        Err(build_shrink_error(scene, plan, limits))
    }
}

/// Names the heaviest unit that stays.
pub(super) fn build_shrink_error(
    scene: &CompactionInput<'_, '_>,
    plan: CompactionPlan,
    limits: TokenLimits,
) -> ShrinkError {
    let mut gone = plan.dropped.iter().map(|gone| gone.messages.start).peekable();
    let mut shrunk = plan.shrunk.iter().peekable();
    let mut heaviest: Option<(u64, &Unit)> = None;
    for unit in &scene.units {
        if gone.next_if_eq(&unit.messages.start).is_some() {
            continue;
        }
        let mut needs = scene.tokens(unit);
        while let Some(less) = shrunk.next_if(|shrunk| shrunk.message < unit.messages.end) {
            needs = needs.saturating_sub(elide::saved_tokens(scene, less));
        }
        if heaviest.is_none_or(|(most, _)| needs > most) {
            heaviest = Some((needs, unit));
        }
    }
    let (needs, messages, hold) = match heaviest {
        Some((needs, unit)) if needs >= scene.weights.overhead => {
            (needs, unit.messages.clone(), unit.hold)
        }
        _ => (scene.weights.overhead, 0..0, UnitHold::Free),
    };
    let (least, best) = (plan.expected, Box::new(plan));
    ShrinkError {
        messages,
        hold,
        needed: needs,
        total_needed: least,
        budget: limits.max_tokens(),
        best_plan: best,
    }
}
