//! Exact counts of findings and edits, and how many of them are listed.
//!
//! A hostile body can contain a finding every few bytes. Memory kept per finding is multiplied by
//! millions, so only the first findings of each rule are kept in full.

use super::{Fix, FixApplicability, Severity, Strategy};
use crate::rules::Rule;

/// Findings, and edits, of one rule that are listed in full; the rest are only counted.
pub const MAX_LISTED: usize = 20_000;
/// Bytes of text in one list, not counting the first entry of each rule.
const MAX_LIST_BYTES: usize = 4 << 20;
/// Call ids named by one finding or edit.
pub const MAX_IDS: usize = 64;
/// Bytes of one id or name in a finding or edit.
pub(super) const MAX_ID_BYTES: usize = 512;
/// Bytes of one sentence.
const MAX_SENTENCE_BYTES: usize = 2_048;

/// The number of findings of one kind.
#[derive(Clone, Copy, Debug)]
pub struct FindingCount {
    /// The violated rule.
    pub rule: &'static Rule,
    /// Whether the provider certainly refuses it.
    pub severity: Severity,
    /// How they can be fixed.
    pub fix: Fix,
    /// Number of occurrences.
    pub count: usize,
}

impl FindingCount {
    /// Whether a repair fixes them; `allow_unsafe` if it may apply unsafe fixes.
    pub fn is_fixable(&self, allow_unsafe: bool) -> bool {
        match self.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => allow_unsafe,
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
        let same = |counted: &&mut FindingCount| {
            counted.rule.code == rule.code && counted.severity == severity && counted.fix == fix
        };
        // The kind that was counted last is nearly always the next one, too.
        match self.0.iter_mut().rev().find(same) {
            Some(counted) => counted.count += count,
            None => self.0.push(FindingCount { rule, severity, fix, count }),
        }
    }

    /// Adds the counts of another report.
    pub fn merge(&mut self, other: &FindingCounts) {
        other.iter().for_each(|kind| self.add(kind.rule, kind.severity, kind.fix, kind.count));
    }

    /// Each kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = &FindingCount> {
        self.0.iter()
    }

    /// The number of findings.
    pub fn total(&self) -> usize {
        self.0.iter().map(|kind| kind.count).sum()
    }

    /// The number of findings of a rule.
    pub fn of(&self, code: u16) -> usize {
        self.0.iter().filter(|kind| kind.rule.code == code).map(|kind| kind.count).sum()
    }

    /// The number of findings that a repair fixes; `allow_unsafe` if it may apply unsafe fixes.
    pub fn fixable(&self, allow_unsafe: bool) -> usize {
        self.0.iter().filter(|kind| kind.is_fixable(allow_unsafe)).map(|kind| kind.count).sum()
    }

    /// Keeps the kinds for which `keep` returns true.
    pub fn retain(&mut self, keep: impl FnMut(&FindingCount) -> bool) {
        self.0.retain(keep);
    }
}

/// The number of edits of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EditCount {
    /// The rule that caused them.
    pub code: u16,
    /// What they do.
    pub strategy: Strategy,
    /// Number of occurrences.
    pub count: usize,
}

/// Exact counts of edits, by rule and strategy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditCounts(Vec<EditCount>);

impl EditCounts {
    /// Counts edits of one kind.
    pub fn add(&mut self, code: u16, strategy: Strategy, count: usize) {
        let same = |counted: &&mut EditCount| counted.code == code && counted.strategy == strategy;
        match self.0.iter_mut().rev().find(same) {
            Some(counted) => counted.count += count,
            None => self.0.push(EditCount { code, strategy, count }),
        }
    }

    /// Adds the counts of another repair.
    pub fn merge(&mut self, other: &EditCounts) {
        other.iter().for_each(|kind| self.add(kind.code, kind.strategy, kind.count));
    }

    /// Each kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = &EditCount> {
        self.0.iter()
    }

    /// The number of edits.
    pub fn total(&self) -> usize {
        self.0.iter().map(|kind| kind.count).sum()
    }

    /// The number of edits that a rule caused.
    pub fn of(&self, code: u16) -> usize {
        self.0.iter().filter(|kind| kind.code == code).map(|kind| kind.count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The size of a list in bytes of text, and how many entries of one rule it accepts.
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

    /// Whether there is room for another entry of a rule that has `before` entries.
    pub(crate) fn has_room(self, before: usize) -> bool {
        before < self.max_per_rule
    }

    /// Whether an entry is listed, and counts its bytes if so; the first of a rule always is.
    pub(crate) fn takes(&mut self, first: bool, bytes: usize) -> bool {
        let fits = first || self.bytes + bytes <= MAX_LIST_BYTES;
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

/// Truncates the text of one entry to a length that people and programs can use.
pub(crate) fn truncate_entry(sentence: &mut String, ids: &mut Vec<String>) {
    truncate_text(sentence, MAX_SENTENCE_BYTES);
    ids.truncate(MAX_IDS);
    // Lists hold thousands of entries; an id list with spare capacity for four takes most of one
    // entry.
    ids.shrink_to_fit();
    ids.iter_mut().for_each(|id| truncate_text(id, MAX_ID_BYTES));
}

/// The total length of some ids in bytes.
pub(crate) fn id_bytes(ids: &[String]) -> usize {
    ids.iter().map(String::len).sum()
}

/// Truncates a text to `max` bytes and marks the cut with an ellipsis.
pub(super) fn truncate_text(text: &mut String, max: usize) {
    if text.len() > max {
        let end = (0..=max).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
}
