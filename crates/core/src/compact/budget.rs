//! Keeps the newest units that fit, and what is pinned.

use super::{
    elide,
    plan::{CannotShrink, Cut, Limits, Pace, Plan, Scene, Why},
    units::{Hold, Unit},
};

/// Plans to drop the oldest units until the rest fits. What has to stay and is too large by itself
/// is shrunk inside.
///
/// # Errors
/// If what has to stay does not fit, shrunk as far as it goes.
pub fn budget(scene: &mut Scene<'_, '_>, limits: Limits) -> Result<Plan, CannotShrink> {
    let mut plan = Plan::nothing(scene);
    if plan.expected <= limits.most() {
        return Ok(plan);
    }
    if limits.pace() == Pace::Steady {
        let mut steady = Steady::new(scene, limits);
        steady.grow();
        plan = steady.plan;
        plan.cut = cut(scene, &plan, limits.goal());
        scene.hold_ends(true);
        return inside(scene, plan, limits);
    }
    scene.hold_ends(true);
    for unit in scene.units.iter().filter(|unit| unit.hold == Hold::Free) {
        if plan.expected <= limits.goal() {
            break;
        }
        plan.drop(scene, unit, Why::Oldest);
    }
    plan.cut = cut(scene, &plan, limits.goal());
    inside(scene, plan, limits)
}

/// Where a cut from message to message would have fallen, and where it was made: behind the last
/// unit that goes.
fn cut(scene: &Scene<'_, '_>, plan: &Plan, goal: u64) -> Option<Cut> {
    let last = plan.gone.last()?.messages.clone();
    let mut left = goal.saturating_sub(plan.expected);
    let fits = |&message: &usize| match left.checked_sub(scene.weights.of_message(message)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let spared = last.clone().rev().take_while(fits).count();
    Some(Cut { asked: last.end - spared, made: last.end })
}

/// A history that grows from nothing, shortened whenever it is too long.
struct Steady<'p, 's, 'a> {
    scene: &'p Scene<'s, 'a>,
    limits: Limits,
    plan: Plan,
    /// The oldest unit that nobody has decided about.
    next: usize,
    /// What the user said last, when it was the oldest that could go.
    spared: Option<usize>,
    /// What the user said first and last so far.
    first: Option<usize>,
    last: Option<usize>,
}

impl<'p, 's, 'a> Steady<'p, 's, 'a> {
    fn new(scene: &'p Scene<'s, 'a>, limits: Limits) -> Steady<'p, 's, 'a> {
        let plan = Plan { expected: scene.weights.around, ..Plan::default() };
        Steady { scene, limits, plan, next: 0, spared: None, first: None, last: None }
    }

    fn grow(&mut self) {
        for (at, unit) in self.scene.units.iter().enumerate() {
            self.plan.expected += self.scene.tokens(unit);
            if unit.messages.clone().any(|message| self.scene.is_wish(message)) {
                self.first.get_or_insert(at);
            }
            if unit.messages.clone().any(|message| self.scene.asks(message)) {
                self.last = Some(at);
            }
            if self.plan.expected > self.limits.most() {
                self.shorten(at);
            }
        }
        self.plan.gone.sort_by_key(|gone| gone.messages.start);
    }

    /// Drops the oldest until the goal is reached; the newest unit stays.
    fn shorten(&mut self, newest: usize) {
        if self.spared.is_some() && self.spared != self.last {
            let spared = self.spared.take();
            spared.into_iter().for_each(|at| self.drop(at));
        }
        while self.next < newest && self.plan.expected > self.limits.goal() {
            let at = self.next;
            self.next += 1;
            let free = self.scene.units.get(at).is_some_and(|unit| unit.hold == Hold::Free);
            if Some(at) == self.last {
                self.spared = Some(at).filter(|_| free && Some(at) != self.first);
            } else if free && Some(at) != self.first {
                self.drop(at);
            }
        }
    }

    fn drop(&mut self, at: usize) {
        if let Some(unit) = self.scene.units.get(at) {
            self.plan.drop(self.scene, unit, Why::Oldest);
        }
    }
}

/// Shrinks answers inside the units that stay, until a plan fits.
pub(super) fn inside(
    scene: &Scene<'_, '_>,
    mut plan: Plan,
    limits: Limits,
) -> Result<Plan, CannotShrink> {
    // The goal is a wish, the limit is not.
    if plan.expected > limits.most() {
        elide::last_resort(scene, &mut plan, limits.goal());
    }
    if plan.expected <= limits.most() { Ok(plan) } else { Err(cannot(scene, plan, limits)) }
}

/// Names the heaviest unit that stays.
pub(super) fn cannot(scene: &Scene<'_, '_>, plan: Plan, limits: Limits) -> CannotShrink {
    let mut gone = plan.gone.iter().map(|gone| gone.messages.start).peekable();
    let mut shrunk = plan.shrunk.iter().peekable();
    let mut heaviest: Option<(u64, &Unit)> = None;
    for unit in &scene.units {
        if gone.next_if_eq(&unit.messages.start).is_some() {
            continue;
        }
        let mut needs = scene.tokens(unit);
        while let Some(less) = shrunk.next_if(|shrunk| shrunk.message < unit.messages.end) {
            needs = needs.saturating_sub(elide::saved(scene, less));
        }
        if heaviest.is_none_or(|(most, _)| needs > most) {
            heaviest = Some((needs, unit));
        }
    }
    let (needs, messages, hold) = match heaviest {
        Some((needs, unit)) if needs >= scene.weights.around => {
            (needs, unit.messages.clone(), unit.hold)
        }
        _ => (scene.weights.around, 0..0, Hold::Free),
    };
    let (least, best) = (plan.expected, Box::new(plan));
    CannotShrink { messages, hold, needs, least, budget: limits.most(), best }
}
