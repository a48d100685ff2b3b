//! What is wrong with a draft, as data.

use crate::{
    profile::{Profile, RuleEvidence},
    rules::Rule,
    span::Span,
};

mod counts;

pub use counts::{EditCount, EditCounts, FindingCount, FindingCounts};
pub(crate) use counts::{ListBudget, MAX_LISTED, id_bytes, truncate_entry};

/// Everything found in one draft: the first findings of each rule in full, in the order of the
/// document, and exact counts of all of them. What a report holds does not grow with what is wrong.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first findings of each rule; never empty if anything was found.
    pub findings: Vec<Finding>,
    /// How many findings there are, listed or not.
    pub counts: FindingCounts,
    budget: ListBudget,
}

impl Report {
    /// A report that lists the first finding of each rule only.
    pub(crate) fn first_findings() -> Report {
        Report { budget: ListBudget::FIRST, ..Report::default() }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.counts.total() == 0
    }

    /// How many findings there are, listed or not.
    pub fn total(&self) -> usize {
        self.counts.total()
    }

    /// How many findings are counted, but not listed.
    pub fn unlisted(&self) -> usize {
        self.counts.total().saturating_sub(self.findings.len())
    }

    /// Fixes of the chosen kinds are done only when unsafe fixes are asked for.
    pub(crate) fn require_unsafe(&mut self, chosen: impl Fn(&Rule, Severity, Fix) -> bool) {
        for finding in &mut self.findings {
            if chosen(finding.rule, finding.severity, finding.fix) {
                finding.fix.applicability = FixApplicability::Unsafe;
            }
        }
        let mut counts = FindingCounts::default();
        for kind in self.counts.iter() {
            let mut fix = kind.fix;
            if chosen(kind.rule, kind.severity, fix) {
                fix.applicability = FixApplicability::Unsafe;
            }
            counts.add(kind.rule, kind.severity, fix, kind.count);
        }
        self.counts = counts;
    }

    /// Counts a finding, and lists it if it is one of the first of its rule.
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

/// Rule, place and fix.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// Whether the provider surely refuses it.
    pub severity: Severity,
    /// One sentence about this very place.
    pub message: String,
    /// Where.
    pub location: FindingLocation,
    /// The other half of the pair, where there is one.
    pub partner: Option<FindingLocation>,
    /// The call ids concerned.
    pub ids: Vec<String>,
    /// The tool concerned.
    pub tool: Option<String>,
    /// The profile that was asked.
    pub profile: Profile,
    /// How it can be repaired.
    pub fix: Fix,
}

/// How sure the refusal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The provider refuses it.
    Error,
    /// The provider probably refuses it: inferred from a compatible one.
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

/// A place in a draft.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FindingLocation {
    /// Index of the message.
    pub message: usize,
    /// Where it lies in the input.
    pub span: Span,
}

/// How a finding can be repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Whether it is done without asking.
    pub applicability: FixApplicability,
    /// What would be done.
    pub strategy: Strategy,
}

impl Fix {
    /// A fix that loses nothing.
    pub const fn safe(strategy: Strategy) -> Fix {
        Fix { applicability: FixApplicability::Safe, strategy }
    }

    /// A fix that speaks for the user.
    pub const fn requires_unsafe(strategy: Strategy) -> Fix {
        Fix { applicability: FixApplicability::Unsafe, strategy }
    }

    /// Nothing can be done.
    pub const NONE: Fix =
        Fix { applicability: FixApplicability::None, strategy: Strategy::Nothing };
}

/// Whether a fix is done without asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixApplicability {
    /// Done by `fix`.
    Safe,
    /// Done only when unsafe fixes are asked for.
    Unsafe,
    /// There is none.
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
    /// A real answer is put where it belongs.
    Recover,
    /// A placeholder is written.
    Synthesize,
    /// Parts change their order.
    Reorder,
    /// Messages are joined.
    Merge,
    /// A message is cut in two.
    Split,
    /// Ids or names are rewritten on both halves.
    Rename,
    /// Something goes.
    Drop,
    /// Signed thinking goes, because of an edit before it.
    DropThinking,
    /// An answer becomes user text.
    Quote,
    /// The same thing is spelled as the provider wants it.
    Recode,
    /// A short message or declaration is put in.
    Insert,
    /// There is nothing to do.
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
