//! Replaces old units by a summary.
//!
//! The caller writes the summary. This module decides what it covers, and then checks it: a summary
//! that is empty, or longer than what it replaces, is rejected.

use super::{
    budget,
    plan::{CompactionInput, CompactionPlan, DropReason, ShrinkError, TokenLimits},
    units::UnitHold,
};

/// Plans to condense everything but the units that have to stay and the newest ones that fit into
/// `recent` tokens. An empty plan means that there is nothing to condense.
///
/// # Errors
/// If what has to stay leaves no room for a summary, even fully shrunk.
pub fn plan_summary(
    input: &mut CompactionInput<'_, '_>,
    recent: u64,
    limits: Option<TokenLimits>,
) -> Result<CompactionPlan, ShrinkError> {
    let mut plan = CompactionPlan::unchanged(input);
    if limits.is_some_and(|limits| plan.expected <= limits.max_tokens()) {
        return Ok(plan);
    }
    input.hold_ends(false);
    let newest = input.newest(recent);
    // Room for a summary.
    let room = limits.map(|limits| limits.reduce_by((limits.goal() / 16).min(1_000)));
    let too_much = |plan: &CompactionPlan| room.is_some_and(|room| plan.expected > room.goal());
    for (at, unit) in input.units.iter().enumerate().filter(|(_, unit)| unit.hold == UnitHold::Free)
    {
        if at < newest || too_much(&plan) {
            plan.drop_unit(input, unit, DropReason::Condensed);
        }
    }
    plan.condense = !plan.dropped.is_empty();
    match room {
        Some(room) if too_much(&plan) => budget::shrink_to_fit(input, plan, room),
        _ => Ok(plan),
    }
}

/// Why a summary is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryRejection {
    /// It is empty.
    Empty,
    /// It is not shorter than what it replaces.
    Longer {
        /// Its tokens.
        summary: u64,
        /// The tokens of what it replaces.
        condensed: u64,
    },
}

impl std::fmt::Display for SummaryRejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SummaryRejection::Empty => f.write_str("the summary is empty"),
            SummaryRejection::Longer { summary, condensed } => write!(
                f,
                "the summary has {summary} tokens, but the messages it replaces only {condensed}"
            ),
        }
    }
}

impl std::error::Error for SummaryRejection {}

/// Checks a summary of `tokens` tokens.
///
/// # Errors
/// If it is empty, or not shorter than what it replaces.
pub fn check_summary(
    plan: &CompactionPlan,
    summary: &str,
    tokens: u64,
) -> Result<(), SummaryRejection> {
    let condensed = plan.dropped.iter().map(|dropped| dropped.tokens).sum();
    if summary.trim().is_empty() {
        return Err(SummaryRejection::Empty);
    }
    if tokens >= condensed {
        return Err(SummaryRejection::Longer { summary: tokens, condensed });
    }
    Ok(())
}
