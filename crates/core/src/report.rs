//! The findings of a check.

use crate::{
    Span,
    profile::{Profile, RuleEvidence},
    rules::Rule,
};

mod counts;

pub use counts::{EditCount, EditCounts, FindingCount, FindingCounts};
pub(crate) use counts::{ListBudget, id_bytes, truncate_entry};
pub use counts::{MAX_IDS, MAX_LISTED};

/// All findings of one draft: the first findings of each rule in full, in document order, and exact
/// counts of all of them. The size of a report is bounded, however many findings there are.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first findings of each rule; never empty if there are findings.
    pub findings: Vec<Finding>,
    /// The number of findings, listed or not.
    pub counts: FindingCounts,
    budget: ListBudget,
}

impl Report {
    /// A report that lists the first finding of each rule only.
    pub(crate) fn first_findings() -> Report {
        Report { budget: ListBudget::FIRST, ..Report::default() }
    }

    /// Whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.counts.total() == 0
    }

    /// The number of findings, listed or not.
    pub fn total(&self) -> usize {
        self.counts.total()
    }

    /// The number of findings that are counted but not listed.
    pub fn unlisted(&self) -> usize {
        self.counts.total().saturating_sub(self.findings.len())
    }

    /// Marks the fixes that `matches` selects as unsafe: they are applied only if the policy allows
    /// unsafe fixes.
    pub(crate) fn require_unsafe(&mut self, matches: impl Fn(&Rule, Severity, Fix) -> bool) {
        for finding in &mut self.findings {
            if matches(finding.rule, finding.severity, finding.fix) {
                finding.fix.applicability = FixApplicability::Unsafe;
            }
        }
        let mut counts = FindingCounts::default();
        for kind in self.counts.iter() {
            let mut fix = kind.fix;
            if matches(kind.rule, kind.severity, fix) {
                fix.applicability = FixApplicability::Unsafe;
            }
            counts.add(kind.rule, kind.severity, fix, kind.count);
        }
        self.counts = counts;
    }

    /// Counts a finding, and lists it if it is among the first of its rule.
    pub(crate) fn push(&mut self, mut finding: Finding) {
        let before = self.counts.of(finding.rule.code);
        self.counts.add(finding.rule, finding.severity, finding.fix, 1);
        if !self.budget.has_room(before) {
            return;
        }
        truncate_entry(&mut finding.message, &mut finding.ids);
        if let Some(tool) = &mut finding.tool {
            counts::truncate_text(tool, counts::MAX_ID_BYTES);
        }
        let bytes = finding.message.len() + id_bytes(&finding.ids);
        if self.budget.takes(before == 0, bytes) {
            self.findings.push(finding);
        }
    }
}

/// One violation of a rule: where it is and how it can be fixed.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The violated rule.
    pub rule: &'static Rule,
    /// Whether the provider certainly refuses it.
    pub severity: Severity,
    /// One sentence about this occurrence.
    pub message: String,
    /// Its position.
    pub location: FindingLocation,
    /// The other half of the pair, if there is one.
    pub partner: Option<FindingLocation>,
    /// The call ids concerned.
    pub ids: Vec<String>,
    /// The tool concerned.
    pub tool: Option<String>,
    /// The profile it was checked against.
    pub profile: Profile,
    /// How it can be fixed.
    pub fix: Fix,
}

/// How certain the refusal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The provider refuses it.
    Error,
    /// The provider probably refuses it: inferred from a compatible provider.
    Warning,
}

impl From<RuleEvidence> for Severity {
    fn from(evidence: RuleEvidence) -> Severity {
        match evidence {
            RuleEvidence::Documented => Severity::Error,
            RuleEvidence::Inferred => Severity::Warning,
        }
    }
}

/// A position in a draft.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FindingLocation {
    /// Index of the message.
    pub message: usize,
    /// Byte range in the input.
    pub span: Span,
}

/// How a finding can be fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Whether it is applied by default.
    pub applicability: FixApplicability,
    /// What it does.
    pub strategy: Strategy,
}

impl Fix {
    /// A fix that is applied by default.
    pub const fn safe(strategy: Strategy) -> Fix {
        Fix { applicability: FixApplicability::Safe, strategy }
    }

    /// A fix that is applied only if the policy allows unsafe fixes.
    pub const fn requires_unsafe(strategy: Strategy) -> Fix {
        Fix { applicability: FixApplicability::Unsafe, strategy }
    }

    /// No fix.
    pub const NONE: Fix =
        Fix { applicability: FixApplicability::None, strategy: Strategy::Nothing };
}

/// Whether a fix is applied by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixApplicability {
    /// Applied by `fix`.
    Safe,
    /// Applied only if unsafe fixes are allowed.
    Unsafe,
    /// There is no fix.
    None,
}

impl FixApplicability {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            FixApplicability::Safe => "safe",
            FixApplicability::Unsafe => "unsafe",
            FixApplicability::None => "none",
        }
    }
}

/// What a fix does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Move a real answer to its place.
    Recover,
    /// Write a placeholder.
    Synthesize,
    /// Change the order of parts.
    Reorder,
    /// Join messages.
    Merge,
    /// Split a message in two.
    Split,
    /// Rewrite ids or names on both halves of a pair.
    Rename,
    /// Remove something.
    Drop,
    /// Remove signed thinking, because of an edit before it.
    DropThinking,
    /// Turn an answer into user text.
    Quote,
    /// Write the same content in the form that the provider accepts.
    Recode,
    /// Insert a short message or declaration.
    Insert,
    /// No change.
    Nothing,
}

impl Strategy {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Recover => "recover",
            Strategy::Synthesize => "synthesize",
            Strategy::Reorder => "reorder",
            Strategy::Merge => "merge",
            Strategy::Split => "split",
            Strategy::Rename => "rename",
            Strategy::Drop => "drop",
            Strategy::DropThinking => "drop-thinking",
            Strategy::Quote => "quote",
            Strategy::Recode => "recode",
            Strategy::Insert => "insert",
            Strategy::Nothing => "none",
        }
    }
}
