//! Puts a summary in the place of what was said.
//!
//! Who writes the summary is not known here. First it is decided what it shall be about, then it
//! is judged: a summary that says nothing, or more than what it stands for, is refused.

use super::{
    budget,
    plan::{CannotShrink, Limits, Plan, Scene, Why},
    units::Hold,
};

/// Plans to condense everything but what has to stay and the newest units that fit into `recent`
/// tokens. An empty plan means that there is nothing to condense.
///
/// # Errors
/// If what has to stay leaves no room for a summary, shrunk as far as it goes.
pub fn condense(
    scene: &mut Scene<'_, '_>,
    recent: u64,
    limits: Option<Limits>,
) -> Result<Plan, CannotShrink> {
    let mut plan = Plan::nothing(scene);
    if limits.is_some_and(|limits| plan.expected <= limits.most()) {
        return Ok(plan);
    }
    scene.hold_ends(false);
    let newest = scene.newest(recent);
    // Room for a summary.
    let room = limits.map(|limits| limits.lower((limits.goal() / 16).min(1_000)));
    let too_much = |plan: &Plan| room.is_some_and(|room| plan.expected > room.goal());
    for (at, unit) in scene.units.iter().enumerate().filter(|(_, unit)| unit.hold == Hold::Free) {
        if at < newest || too_much(&plan) {
            plan.drop(scene, unit, Why::Condensed);
        }
    }
    plan.condense = !plan.gone.is_empty();
    match room {
        Some(room) if too_much(&plan) => budget::inside(scene, plan, room),
        _ => Ok(plan),
    }
}

/// Why a summary is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It says nothing.
    Empty,
    /// It is no shorter than what it stands for.
    Longer {
        /// Its tokens.
        summary: u64,
        /// The tokens of what it stands for.
        condensed: u64,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Empty => f.write_str("the summary is empty"),
            Refusal::Longer { summary, condensed } => write!(
                f,
                "the summary has {summary} tokens, and what it stands for only {condensed}"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Judges a summary of so many tokens.
///
/// # Errors
/// If it is empty, or longer than what it stands for.
pub fn accept(plan: &Plan, summary: &str, tokens: u64) -> Result<(), Refusal> {
    let condensed = plan.gone.iter().map(|gone| gone.tokens).sum();
    if summary.trim().is_empty() {
        return Err(Refusal::Empty);
    }
    if tokens >= condensed {
        return Err(Refusal::Longer { summary: tokens, condensed });
    }
    Ok(())
}
