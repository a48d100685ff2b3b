//! What is said about all targets: findings as data on one stream, talk on the other.
//!
//! Findings are written as they come: no format ever holds all of them as text.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use foxwedge_core::{Edit, FixApplicability, Rule, Severity};

use crate::{
    check_settings::CheckSettings,
    cli::OutputFormat,
    findings::ReportDetail,
    outcome::{FileReport, LocatedFinding, SessionRef, TargetOutcome, TargetResult},
};

pub(crate) mod excerpt;
mod row;
mod edits;
mod full;
mod concise;
mod json;
mod github;
mod sarif;
mod markdown;
mod statistics;
pub(crate) mod summary;

pub(crate) use json::write_pretty;
pub(crate) use markdown::escape_cell;
pub(crate) use row::role_at;

/// What a format needs to know about each finding.
pub(crate) fn required_detail(format: OutputFormat) -> ReportDetail {
    match format {
        OutputFormat::Full => ReportDetail { edits: full::MAX_DRAWN, excerpts: full::MAX_DRAWN },
        OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::Sarif => {
            ReportDetail { edits: usize::MAX, excerpts: 0 }
        }
        OutputFormat::Concise | OutputFormat::Github | OutputFormat::Markdown => {
            ReportDetail::default()
        }
    }
}

/// Writes all findings in a format; for programs also what repairs did, if there were to be any.
pub(crate) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
    ask: &CheckSettings,
    repaired: bool,
) -> io::Result<()> {
    match format {
        OutputFormat::Full => outcomes.iter().try_for_each(|outcome| match &outcome.result {
            TargetResult::Checked(judged) => out.write_all(
                full::draw(&outcome.path, outcome.command_name(), judged, ask).as_bytes(),
            ),
            TargetResult::Skipped | TargetResult::Failed(_) => Ok(()),
        }),
        OutputFormat::Concise => concise::write(out, outcomes),
        OutputFormat::Json => json::write_document(out, outcomes, repaired),
        OutputFormat::JsonLines => json::write_lines(out, outcomes, repaired),
        OutputFormat::Github => github::write(out, outcomes),
        OutputFormat::Sarif => sarif::write(out, outcomes, repaired),
        OutputFormat::Markdown => markdown::write(out, outcomes, ask),
    }
}

/// Writes how often each rule was broken.
pub(crate) fn statistics(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
) -> io::Result<()> {
    statistics::write(out, outcomes, format)
}

/// Targets that were read, with their paths.
fn file_reports(outcomes: &[TargetOutcome]) -> impl Iterator<Item = (&str, &FileReport)> {
    outcomes.iter().filter_map(|outcome| match &outcome.result {
        TargetResult::Checked(judged) => Some((outcome.path.as_str(), &**judged)),
        TargetResult::Skipped | TargetResult::Failed(_) => None,
    })
}

/// A finding, where it was found.
#[derive(Clone, Copy)]
struct ReportedFinding<'a> {
    path: &'a str,
    located: &'a LocatedFinding,
    /// The session it was found in.
    session: Option<&'a SessionRef>,
    /// What a repair would do about it.
    edits: &'a [Edit],
}

/// How many findings are counted, but not listed.
fn unlisted(outcomes: &[TargetOutcome]) -> usize {
    file_reports(outcomes).map(|(_, judged)| judged.unlisted()).sum()
}

/// The rules of which not all findings are listed, with how many are not.
fn unlisted_by_rule(judged: &FileReport) -> Vec<(&'static Rule, Severity, usize)> {
    let mut listed: HashMap<u16, usize> = HashMap::new();
    judged.findings.iter().for_each(|found| {
        *listed.entry(found.finding.rule.code).or_default() += 1;
    });
    let mut rules: Vec<(&'static Rule, Severity, usize)> = Vec::new();
    for kind in judged.counts.iter() {
        if rules.iter().any(|(rule, ..)| rule.code == kind.rule.code) {
            continue;
        }
        let all = judged.counts.of(kind.rule.code);
        let more = all.saturating_sub(listed.get(&kind.rule.code).copied().unwrap_or(0));
        if more > 0 {
            rules.push((kind.rule, kind.severity, more));
        }
    }
    rules
}

/// The findings that are listed.
fn findings(outcomes: &[TargetOutcome]) -> impl Iterator<Item = ReportedFinding<'_>> {
    file_reports(outcomes).flat_map(|(path, judged)| file_findings(path, judged))
}

/// The findings of one file that are listed.
fn file_findings<'o>(
    path: &'o str,
    judged: &'o FileReport,
) -> impl Iterator<Item = ReportedFinding<'o>> {
    let session = judged.session.as_ref();
    let seen = move |found| ReportedFinding {
        path,
        located: found,
        session,
        edits: judged.edits_of(found),
    };
    judged.findings.iter().map(seen)
}

/// The word for a severity, the same in every format.
fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// How many of something, over all targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportTotals {
    pub(crate) files: usize,
    pub(crate) messages: usize,
    pub(crate) findings: usize,
    pub(crate) fixed: usize,
    /// Findings that a repair would remove, where it was only shown.
    pub(crate) planned: usize,
    pub(crate) skipped: usize,
    /// Targets, or lines of targets, that could not be read or written.
    pub(crate) failed: usize,
    /// Findings by what can be done about them.
    pub(crate) safe_fixable: usize,
    pub(crate) unsafe_fixable: usize,
    pub(crate) unfixable: usize,
    /// Targets that a repair would change or has changed.
    pub(crate) changed: usize,
}

impl ReportTotals {
    pub(crate) fn of(outcomes: &[TargetOutcome]) -> ReportTotals {
        let mut totals = ReportTotals::default();
        for outcome in outcomes {
            match &outcome.result {
                TargetResult::Skipped => totals.skipped += 1,
                TargetResult::Failed(_) => totals.failed += 1,
                TargetResult::Checked(judged) => totals.add(judged),
            }
        }
        totals
    }

    fn add(&mut self, judged: &FileReport) {
        self.files += 1;
        self.messages += judged.messages;
        self.findings += judged.counts.total();
        self.fixed += judged.fixed;
        self.planned += judged.planned;
        self.failed += judged.failures.len();
        self.changed += usize::from(judged.diff.is_some() || !judged.applied.is_empty());
        for kind in judged.counts.iter() {
            match kind.fix.applicability {
                FixApplicability::Safe => self.safe_fixable += kind.count,
                FixApplicability::Unsafe => self.unsafe_fixable += kind.count,
                FixApplicability::None => self.unfixable += kind.count,
            }
        }
    }
}
