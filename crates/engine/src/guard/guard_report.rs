//! What is told of a finding and of a repair: codes, counts and sentences, no content.

use std::fmt::Write as _;

use foxwedge_core::{Edit, EditLog, Report};

use super::CountedList;

/// What was done about a history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GuardAction {
    /// Nothing had to be done.
    None,
    /// Something was found and left as it is.
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

    /// The word in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GuardAction::None => "none",
            GuardAction::Observed => "observed",
            GuardAction::Fixed => "fixed",
            GuardAction::Rejected => "rejected",
        }
    }
}

/// How often a rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FindingTally {
    /// The rule, as the number in its code.
    pub code: u16,
    /// What was, or would be, done: the name of a strategy.
    pub strategy: &'static str,
    /// How often.
    pub count: usize,
}

impl FindingTally {
    /// As a header says it: `FW101=2, FW103=1`.
    pub fn header_value(all: &[FindingTally]) -> String {
        let mut text = String::new();
        for noted in all {
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}FW{}={}", noted.code, noted.count);
        }
        text
    }
}

/// One step of a repair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepairChange {
    /// The rule that asked for it.
    pub code: u16,
    /// What kind of step: the name of a strategy.
    pub strategy: &'static str,
    /// The message of the request it concerns.
    pub message: usize,
    /// The calls it concerns.
    pub calls: Vec<String>,
    /// One sentence. It names calls and tools, and repeats nothing that was said.
    pub note: String,
}

impl RepairChange {
    pub(crate) fn from_edit(edit: Edit) -> RepairChange {
        RepairChange {
            code: edit.code,
            strategy: edit.strategy.name(),
            message: edit.message,
            calls: edit.ids,
            note: edit.note,
        }
    }
}

/// The steps of a repair.
pub(crate) fn changes_of(edits: EditLog) -> CountedList<RepairChange> {
    CountedList::of(edits.len(), edits.into_iter().map(RepairChange::from_edit))
}

/// Counts findings by rule, in the order of the rules.
pub(super) fn count_findings(report: &Report) -> Vec<FindingTally> {
    let kinds = report.counts.iter();
    count_by_rule(kinds.map(|kind| (kind.rule.code, kind.fix.strategy.name(), kind.count)))
}

/// Counts steps by rule.
pub(super) fn count_edits<'e>(edits: impl IntoIterator<Item = &'e EditLog>) -> Vec<FindingTally> {
    let kinds = edits.into_iter().flat_map(|edits| edits.counts().iter());
    count_by_rule(kinds.map(|kind| (kind.code, kind.strategy.name(), kind.count)))
}

fn count_by_rule(found: impl Iterator<Item = (u16, &'static str, usize)>) -> Vec<FindingTally> {
    let mut all: Vec<FindingTally> = Vec::new();
    for (code, strategy, count) in found {
        match all.iter_mut().find(|noted| noted.code == code) {
            Some(noted) => noted.count += count,
            None => all.push(FindingTally { code, strategy, count }),
        }
    }
    all.sort_by_key(|noted| noted.code);
    all
}
