//! Exact counts of findings and edits, and how many of them are listed.
//!
//! A hostile body can hold a finding in every few bytes. Whatever is kept for each of them is
//! multiplied by millions, so only the first of each rule are kept in full.

use super::{Fix, FixApplicability, Severity, Strategy};
use crate::rules::Rule;

/// Findings, and edits, of one rule that are listed in full; the rest is counted.
pub(crate) const MAX_LISTED: usize = 20_000;
/// Bytes of text in one list, beside the first of each rule.
const MAX_LIST_BYTES: usize = 4 << 20;
/// Call ids named by one finding or edit.
const MAX_IDS: usize = 64;
/// Bytes of one id or name in a finding or edit.
pub(super) const MAX_ID_BYTES: usize = 512;
/// Bytes of one sentence.
const MAX_SENTENCE_BYTES: usize = 2_048;

/// How many findings of one kind there are.
#[derive(Clone, Copy, Debug)]
pub struct FindingCount {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// Whether the provider surely refuses it.
    pub severity: Severity,
    /// How it can be repaired.
    pub fix: Fix,
    /// How many.
    pub count: usize,
}

impl FindingCount {
    /// Whether a repair takes care of them; `bold` if it may do unsafe fixes.
    pub fn is_fixable(&self, bold: bool) -> bool {
        match self.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => bold,
            FixApplicability::None => false,
        }
    }
}

/// Exact counts of findings, by rule, severity and fix.
#[derive(Clone, Debug, Default)]
pub struct FindingCounts(Vec<FindingCount>);

impl FindingCounts {
    /// Counts findings of one kind.
    pub fn add(&mut self, rule: &'static Rule, severity: Severity, fix: Fix, count: usize) {
        let same = |known: &&mut FindingCount| {
            known.rule.code == rule.code && known.severity == severity && known.fix == fix
        };
        // The kind that was counted last is nearly always the one that comes next.
        match self.0.iter_mut().rev().find(same) {
            Some(known) => known.count += count,
            None => self.0.push(FindingCount { rule, severity, fix, count }),
        }
    }

    /// Counts all findings of another report as well.
    pub fn merge(&mut self, other: &FindingCounts) {
        other.iter().for_each(|kind| self.add(kind.rule, kind.severity, kind.fix, kind.count));
    }

    /// Each kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = &FindingCount> {
        self.0.iter()
    }

    /// How many findings there are.
    pub fn total(&self) -> usize {
        self.0.iter().map(|kind| kind.count).sum()
    }

    /// How many findings of a rule there are.
    pub fn of(&self, code: u16) -> usize {
        self.0.iter().filter(|kind| kind.rule.code == code).map(|kind| kind.count).sum()
    }

    /// How many findings a repair takes care of; `bold` if it may do unsafe fixes.
    pub fn fixable(&self, bold: bool) -> usize {
        self.0.iter().filter(|kind| kind.is_fixable(bold)).map(|kind| kind.count).sum()
    }

    /// Keeps the kinds for which `keep` says so.
    pub fn retain(&mut self, keep: impl FnMut(&FindingCount) -> bool) {
        self.0.retain(keep);
    }
}

/// How many edits of one kind there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EditCount {
    /// The rule that asked for them.
    pub code: u16,
    /// What kind of step.
    pub strategy: Strategy,
    /// How many.
    pub count: usize,
}

/// Exact counts of edits, by rule and strategy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditCounts(Vec<EditCount>);

impl EditCounts {
    /// Counts edits of one kind.
    pub fn add(&mut self, code: u16, strategy: Strategy, count: usize) {
        let same = |known: &&mut EditCount| known.code == code && known.strategy == strategy;
        match self.0.iter_mut().rev().find(same) {
            Some(known) => known.count += count,
            None => self.0.push(EditCount { code, strategy, count }),
        }
    }

    /// Counts all edits of another repair as well.
    pub fn merge(&mut self, other: &EditCounts) {
        other.iter().for_each(|kind| self.add(kind.code, kind.strategy, kind.count));
    }

    /// Each kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = &EditCount> {
        self.0.iter()
    }

    /// How many edits there are.
    pub fn total(&self) -> usize {
        self.0.iter().map(|kind| kind.count).sum()
    }

    /// How many edits a rule asked for.
    pub fn of(&self, code: u16) -> usize {
        self.0.iter().filter(|kind| kind.code == code).map(|kind| kind.count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How much text a list holds so far, and how many entries of one rule it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListBudget {
    bytes: usize,
    max_per_rule: usize,
}

impl Default for ListBudget {
    fn default() -> ListBudget {
        ListBudget { bytes: 0, max_per_rule: MAX_LISTED }
    }
}

impl ListBudget {
    /// Lists the first entry of each rule only.
    pub(crate) const FIRST: ListBudget = ListBudget { bytes: 0, max_per_rule: 1 };

    /// Whether there is room for another entry of a rule that has so many.
    pub(crate) fn has_room(self, before: usize) -> bool {
        before < self.max_per_rule
    }

    /// Whether an entry is listed; the first of a rule always is.
    pub(crate) fn takes(&mut self, first: bool, bytes: usize) -> bool {
        let takes = first || self.bytes + bytes <= MAX_LIST_BYTES;
        if takes {
            self.bytes += bytes;
        }
        takes
    }
}

/// Cuts what one entry says to a length that people and programs can use.
pub(crate) fn truncate_entry(sentence: &mut String, ids: &mut Vec<String>) {
    truncate_text(sentence, MAX_SENTENCE_BYTES);
    ids.truncate(MAX_IDS);
    // Lists hold thousands of entries; a list of one id that has room for four takes most of one.
    ids.shrink_to_fit();
    ids.iter_mut().for_each(|id| truncate_text(id, MAX_ID_BYTES));
}

/// The bytes of some ids.
pub(crate) fn id_bytes(ids: &[String]) -> usize {
    ids.iter().map(String::len).sum()
}

/// Cuts a text, and says so.
pub(super) fn truncate_text(text: &mut String, most: usize) {
    if text.len() > most {
        let upto = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(upto);
        text.push('…');
        text.shrink_to_fit();
    }
}
