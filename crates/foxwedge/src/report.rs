//! Reports on all targets: findings go to stdout, messages for people to stderr.
//!
//! Findings are written one by one: no format holds all of them in memory as text.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Write},
};

use foxwedge_core::{Edit, Finding, FixApplicability, Rule, Severity};

use crate::cli::OutputFormat;
use foxwedge_local::{
    check_settings::CheckSettings,
    findings::ReportDetail,
    language::{is_translated, localize},
    outcome::{FileReport, LocatedFinding, SessionRef, TargetOutcome, TargetResult},
};

mod edits;
mod full;
mod concise;
mod json;
mod github;
mod gitlab;
mod junit;
mod sarif;
mod markdown;
mod statistics;
pub(crate) mod summary;

pub(crate) use json::write_pretty;

/// How much detail a format needs for each finding.
pub(crate) fn required_detail(format: OutputFormat) -> ReportDetail {
    match format {
        OutputFormat::Full => ReportDetail { edits: full::MAX_DRAWN, excerpts: full::MAX_DRAWN },
        OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::Sarif => {
            ReportDetail { edits: usize::MAX, excerpts: 0 }
        }
        OutputFormat::Concise
        | OutputFormat::Github
        | OutputFormat::Gitlab
        | OutputFormat::Junit
        | OutputFormat::Markdown => ReportDetail::default(),
    }
}

/// Writes all findings in a format. With `repaired`, formats for programs also list what the
/// repairs did.
pub(crate) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
    settings: &CheckSettings,
    repaired: bool,
) -> io::Result<()> {
    match format {
        OutputFormat::Full => outcomes.iter().try_for_each(|outcome| match &outcome.result {
            TargetResult::Checked(report) => out.write_all(
                full::draw(&outcome.path, outcome.command_name(), report, settings).as_bytes(),
            ),
            TargetResult::Skipped | TargetResult::Failed(_) => Ok(()),
        }),
        OutputFormat::Concise => concise::write(out, outcomes),
        OutputFormat::Json => json::write_document(out, outcomes, repaired),
        OutputFormat::JsonLines => json::write_lines(out, outcomes, repaired),
        OutputFormat::Github => github::write(out, outcomes),
        OutputFormat::Gitlab => gitlab::write(out, outcomes),
        OutputFormat::Junit => junit::write(out, outcomes),
        OutputFormat::Sarif => sarif::write(out, outcomes, repaired),
        OutputFormat::Markdown => markdown::write(out, outcomes, settings),
    }
}

/// Writes the number of findings per rule.
pub(crate) fn statistics(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    format: OutputFormat,
) -> io::Result<()> {
    statistics::write(out, outcomes, format)
}

/// The reports of all targets that were read, with their paths.
fn file_reports(outcomes: &[TargetOutcome]) -> impl Iterator<Item = (&str, &FileReport)> {
    outcomes.iter().filter_map(|outcome| match &outcome.result {
        TargetResult::Checked(report) => Some((outcome.path.as_str(), &**report)),
        TargetResult::Skipped | TargetResult::Failed(_) => None,
    })
}

/// A finding with its file and session.
#[derive(Clone, Copy)]
struct ReportedFinding<'a> {
    path: &'a str,
    located: &'a LocatedFinding,
    /// The session that contains it.
    session: Option<&'a SessionRef>,
    /// The edits of a repair that would fix it.
    edits: &'a [Edit],
}

/// Number of findings that are counted but not listed.
fn unlisted(outcomes: &[TargetOutcome]) -> usize {
    file_reports(outcomes).map(|(_, report)| report.unlisted()).sum()
}

/// Rules with unlisted findings, each with the number of them.
fn unlisted_by_rule(report: &FileReport) -> Vec<(&'static Rule, Severity, usize)> {
    let mut listed: HashMap<u16, usize> = HashMap::new();
    report.findings.iter().for_each(|located| {
        *listed.entry(located.finding.rule.code).or_default() += 1;
    });
    let mut rules: Vec<(&'static Rule, Severity, usize)> = Vec::new();
    for kind in report.counts.iter() {
        if rules.iter().any(|(rule, ..)| rule.code == kind.rule.code) {
            continue;
        }
        let all = report.counts.of(kind.rule.code);
        let more = all.saturating_sub(listed.get(&kind.rule.code).copied().unwrap_or(0));
        if more > 0 {
            rules.push((kind.rule, kind.severity, more));
        }
    }
    rules
}

/// All listed findings.
fn findings(outcomes: &[TargetOutcome]) -> impl Iterator<Item = ReportedFinding<'_>> {
    file_reports(outcomes).flat_map(|(path, report)| file_findings(path, report))
}

/// The listed findings of one file.
fn file_findings<'o>(
    path: &'o str,
    report: &'o FileReport,
) -> impl Iterator<Item = ReportedFinding<'o>> {
    let session = report.session.as_ref();
    let to_reported =
        move |located| ReportedFinding { path, located, session, edits: report.edits_of(located) };
    report.findings.iter().map(to_reported)
}

/// The message of a finding in the language of the user. A message that was cut short, or that the
/// catalog does not have, becomes the summary of its rule with the calls.
pub(crate) fn finding_message(finding: &Finding) -> Cow<'_, str> {
    let localized = localize(finding.message.as_str());
    if !is_translated() || matches!(localized, Cow::Owned(_)) {
        return localized;
    }
    let names = finding.tool.iter().chain(&finding.ids);
    with_names(localize(finding.rule.summary), names)
}

/// The note of an edit in the language of the user, or else what its strategy does.
pub(crate) fn edit_note(edit: &Edit) -> Cow<'_, str> {
    let localized = localize(edit.note.as_str());
    if !is_translated() || matches!(localized, Cow::Owned(_)) {
        return localized;
    }
    with_names(localize(full::describe_strategy(edit.strategy)), edit.ids.iter())
}

fn with_names<'n>(
    text: Cow<'static, str>,
    names: impl Iterator<Item = &'n String>,
) -> Cow<'static, str> {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { text } else { Cow::Owned(format!("{text}: {}", names.join(", "))) }
}

/// Name of a severity, the same in every format.
fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Counts over all targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportTotals {
    pub(crate) files: usize,
    pub(crate) messages: usize,
    pub(crate) findings: usize,
    pub(crate) fixed: usize,
    /// Findings that a repair would fix, where it was only previewed.
    pub(crate) planned: usize,
    pub(crate) skipped: usize,
    /// Targets, or lines of targets, that could not be read or written.
    pub(crate) failed: usize,
    /// Findings by the kind of fix they have.
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
                TargetResult::Checked(report) => totals.add(report),
            }
        }
        totals
    }

    fn add(&mut self, report: &FileReport) {
        self.files += 1;
        self.messages += report.messages;
        self.findings += report.counts.total();
        self.fixed += report.fixed;
        self.planned += report.planned;
        self.failed += report.failures.len();
        self.changed += usize::from(report.diff.is_some() || !report.applied.is_empty());
        for kind in report.counts.iter() {
            match kind.fix.applicability {
                FixApplicability::Safe => self.safe_fixable += kind.count,
                FixApplicability::Unsafe => self.unsafe_fixable += kind.count,
                FixApplicability::None => self.unfixable += kind.count,
            }
        }
    }
}
