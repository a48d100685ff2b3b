//! Puts a summary in the place of what was said.
//!
//! Who writes the summary is not known here. First it is decided what it shall be about, then it
//! is judged: a summary that says nothing, or more than what it stands for, is refused.

use super::{
    budget,
    plan::{CompactionInput, CompactionPlan, DropReason, ShrinkError, TokenLimits},
    units::UnitHold,
};

/// Plans to condense everything but what has to stay and the newest units that fit into `recent`
/// tokens. An empty plan means that there is nothing to condense.
///
/// # Errors
/// If what has to stay leaves no room for a summary, shrunk as far as it goes.
pub fn plan_summary(
    scene: &mut CompactionInput<'_, '_>,
    recent: u64,
    limits: Option<TokenLimits>,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(scene);
    if limits.is_some_and(|limits| plan.expected <= limits.max_tokens()) {
        return Ok(plan);
    }
    scene.hold_ends(false);
    let newest = scene.newest(recent);
    // Room for a summary.
    let room = limits.map(|limits| limits.reduce_by((limits.goal() / 16).min(1_000)));
    let too_much = |plan: &CompactionPlan| room.is_some_and(|room| plan.expected > room.goal());
    for (at, unit) in scene.units.iter().enumerate().filter(|(_, unit)| unit.hold == UnitHold::Free)
    {
        if at < newest || too_much(&plan) {
            plan.drop_unit(scene, unit, DropReason::Condensed);
        }
    }
    plan.condense = !plan.dropped.is_empty();
    match room {
        Some(room) if too_much(&plan) => budget::shrink_to_fit(scene, plan, room),
        _ => Ok(plan),
    }
}

/// Why a summary is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryRejection {
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

impl std::fmt::Display for SummaryRejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SummaryRejection::Empty => f.write_str("the summary is empty"),
            SummaryRejection::Longer { summary, condensed } => write!(
                f,
                "the summary has {summary} tokens, and what it stands for only {condensed}"
            ),
        }
    }
}

impl std::error::Error for SummaryRejection {}

/// Judges a summary of so many tokens.
///
/// # Errors
/// If it is empty, or longer than what it stands for.
pub fn check_summary(
    plan: &CompactionPlan,
    summary: &str,
    tokens: u64,
) -> Result<(), SummaryRejection> {
    let condensed = plan.dropped.iter().map(|gone| gone.tokens).sum();
    if summary.trim().is_empty() {
        return Err(SummaryRejection::Empty);
    }
    if tokens >= condensed {
        return Err(SummaryRejection::Longer { summary: tokens, condensed });
    }
    Ok(())
}
