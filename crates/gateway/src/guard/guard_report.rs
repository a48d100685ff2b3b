//! What is reported about findings and repairs: codes, counts and sentences, no content.

use std::fmt::Write as _;

use foxwedge_core::{EditLog, Report};

/// What the guard did with a history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GuardAction {
    /// Nothing to do.
    None,
    /// It has findings and was left as it is.
    Observed,
    /// It was repaired.
    Fixed,
    /// It was refused.
    Rejected,
}

impl GuardAction {
    /// Every action.
    pub const ALL: [GuardAction; 4] =
        [GuardAction::None, GuardAction::Observed, GuardAction::Fixed, GuardAction::Rejected];

    /// The name in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GuardAction::None => "none",
            GuardAction::Observed => "observed",
            GuardAction::Fixed => "fixed",
            GuardAction::Rejected => "rejected",
        }
    }
}

/// How often a rule was violated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FindingTally {
    /// The rule, as the number in its code.
    pub code: u16,
    /// The repair that was or would be applied: the name of a strategy.
    pub strategy: &'static str,
    /// The number of findings.
    pub count: usize,
}

impl FindingTally {
    /// The header value: `FW101=2, FW103=1`.
    pub fn header_value(tallies: &[FindingTally]) -> String {
        let mut text = String::new();
        for tally in tallies {
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}FW{}={}", tally.code, tally.count);
        }
        text
    }
}

/// Counts findings by rule, in the order of the rules.
pub(super) fn count_findings(report: &Report) -> Vec<FindingTally> {
    let kinds = report.counts.iter();
    count_by_rule(kinds.map(|kind| (kind.rule.code, kind.fix.strategy.name(), kind.count)))
}

/// Counts the findings of a refused request by rule. Nothing is repaired.
pub(crate) fn count_rejected(report: &Report) -> Vec<FindingTally> {
    count_by_rule(report.counts.iter().map(|kind| (kind.rule.code, "none", kind.count)))
}

/// Counts edits by rule.
pub(super) fn count_edits<'e>(edits: impl IntoIterator<Item = &'e EditLog>) -> Vec<FindingTally> {
    let kinds = edits.into_iter().flat_map(|edits| edits.counts().iter());
    count_by_rule(kinds.map(|kind| (kind.code, kind.strategy.name(), kind.count)))
}

fn count_by_rule(counts: impl Iterator<Item = (u16, &'static str, usize)>) -> Vec<FindingTally> {
    let mut tallies: Vec<FindingTally> = Vec::new();
    for (code, strategy, count) in counts {
        match tallies.iter_mut().find(|tally| tally.code == code) {
            Some(tally) => tally.count += count,
            None => tallies.push(FindingTally { code, strategy, count }),
        }
    }
    tallies.sort_by_key(|tally| tally.code);
    tallies
}
