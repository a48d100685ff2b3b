//! What is told of a finding and of a repair: codes, counts and sentences, no content.

use std::fmt::Write as _;

use foxwedge_core::{Edit, EditLog, Report};

use super::CountedList;

/// What was done about a history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Nothing had to be done.
    None,
    /// Something was found and left as it is.
    Observed,
    /// It was repaired.
    Fixed,
    /// It was refused.
    Rejected,
}

impl Action {
    /// Every action.
    pub const ALL: [Action; 4] = [Action::None, Action::Observed, Action::Fixed, Action::Rejected];

    /// The word in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Action::None => "none",
            Action::Observed => "observed",
            Action::Fixed => "fixed",
            Action::Rejected => "rejected",
        }
    }
}

/// How often a rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Noted {
    /// The rule, as the number in its code.
    pub code: u16,
    /// What was, or would be, done: the name of a strategy.
    pub strategy: &'static str,
    /// How often.
    pub count: usize,
}

impl Noted {
    /// As a header says it: `FW101=2, FW103=1`.
    pub fn header(all: &[Noted]) -> String {
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
pub struct Change {
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

impl Change {
    pub(crate) fn of(edit: Edit) -> Change {
        Change {
            code: edit.code,
            strategy: edit.strategy.name(),
            message: edit.message,
            calls: edit.ids,
            note: edit.note,
        }
    }
}

/// The steps of a repair.
pub(crate) fn changes(edits: EditLog) -> CountedList<Change> {
    CountedList::of(edits.len(), edits.into_iter().map(Change::of))
}

/// Counts findings by rule, in the order of the rules.
pub(super) fn findings(report: &Report) -> Vec<Noted> {
    let kinds = report.counts.iter();
    counted(kinds.map(|kind| (kind.rule.code, kind.fix.strategy.name(), kind.count)))
}

/// Counts steps by rule.
pub(super) fn edits<'e>(edits: impl IntoIterator<Item = &'e EditLog>) -> Vec<Noted> {
    let kinds = edits.into_iter().flat_map(|edits| edits.counts().iter());
    counted(kinds.map(|kind| (kind.code, kind.strategy.name(), kind.count)))
}

fn counted(found: impl Iterator<Item = (u16, &'static str, usize)>) -> Vec<Noted> {
    let mut all: Vec<Noted> = Vec::new();
    for (code, strategy, count) in found {
        match all.iter_mut().find(|noted| noted.code == code) {
            Some(noted) => noted.count += count,
            None => all.push(Noted { code, strategy, count }),
        }
    }
    all.sort_by_key(|noted| noted.code);
    all
}
