//! Keeps the newest units that fit, and what is pinned.

use super::{
    elide,
    plan::{CannotShrink, Limits, Plan, Scene, Why},
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
    scene.hold_ends(true);
    for unit in scene.units.iter().filter(|unit| unit.hold == Hold::Free) {
        if plan.expected <= limits.goal() {
            return Ok(plan);
        }
        plan.drop(scene, unit, Why::Oldest);
    }
    inside(scene, plan, limits)
}

/// Shrinks answers inside the units that stay, until a plan fits.
pub(super) fn inside(
    scene: &Scene<'_, '_>,
    mut plan: Plan,
    limits: Limits,
) -> Result<Plan, CannotShrink> {
    if plan.expected > limits.goal() {
        elide::last_resort(scene, &mut plan, limits.goal());
    }
    // The goal is a wish, the limit is not.
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
