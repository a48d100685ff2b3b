//! What is said about all targets: findings as data on one stream, talk on the other.
//!
//! Findings are written as they come: no format ever holds all of them as text.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use foxwedge_core::{Applicability, Edit, Rule, Severity};

use crate::{
    ask::Ask,
    cli::OutputFormat,
    judge::Look,
    outcome::{Found, Judged, Outcome, Sitting, Verdict},
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

pub(crate) use json::pretty;
pub(crate) use markdown::cell;
pub(crate) use row::role_at;

/// What a format needs to know about each finding.
pub(crate) fn look(format: OutputFormat) -> Look {
    match format {
        OutputFormat::Full => Look { edits: full::MOST, excerpts: full::MOST },
        OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::Sarif => {
            Look { edits: usize::MAX, excerpts: 0 }
        }
        OutputFormat::Concise | OutputFormat::Github | OutputFormat::Markdown => Look::default(),
    }
}

/// Writes all findings in a format; for programs also what repairs did, if there were to be any.
pub(crate) fn write(
    out: &mut dyn Write,
    outcomes: &[Outcome],
    format: OutputFormat,
    ask: &Ask,
    repaired: bool,
) -> io::Result<()> {
    match format {
        OutputFormat::Full => outcomes.iter().try_for_each(|outcome| match &outcome.result {
            Verdict::Judged(judged) => {
                out.write_all(full::draw(&outcome.path, outcome.word(), judged, ask).as_bytes())
            }
            Verdict::Skipped | Verdict::Failed(_) => Ok(()),
        }),
        OutputFormat::Concise => concise::write(out, outcomes),
        OutputFormat::Json => json::document(out, outcomes, repaired),
        OutputFormat::JsonLines => json::lines(out, outcomes, repaired),
        OutputFormat::Github => github::write(out, outcomes),
        OutputFormat::Sarif => sarif::write(out, outcomes, repaired),
        OutputFormat::Markdown => markdown::write(out, outcomes, ask),
    }
}

/// Writes how often each rule was broken.
pub(crate) fn statistics(
    out: &mut dyn Write,
    outcomes: &[Outcome],
    format: OutputFormat,
) -> io::Result<()> {
    statistics::write(out, outcomes, format)
}

/// Targets that were read, with their paths.
fn judged(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &Judged)> {
    outcomes.iter().filter_map(|outcome| match &outcome.result {
        Verdict::Judged(judged) => Some((outcome.path.as_str(), &**judged)),
        Verdict::Skipped | Verdict::Failed(_) => None,
    })
}

/// A finding, where it was found.
#[derive(Clone, Copy)]
struct Seen<'a> {
    path: &'a str,
    found: &'a Found,
    /// The session it was found in.
    session: Option<&'a Sitting>,
    /// What a repair would do about it.
    edits: &'a [Edit],
}

/// How many findings are counted, but not listed.
fn unlisted(outcomes: &[Outcome]) -> usize {
    judged(outcomes).map(|(_, judged)| judged.unlisted()).sum()
}

/// The rules of which not all findings are listed, with how many are not.
fn unlisted_by_rule(judged: &Judged) -> Vec<(&'static Rule, Severity, usize)> {
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
fn findings(outcomes: &[Outcome]) -> impl Iterator<Item = Seen<'_>> {
    judged(outcomes).flat_map(|(path, judged)| of_file(path, judged))
}

/// The findings of one file that are listed.
fn of_file<'o>(path: &'o str, judged: &'o Judged) -> impl Iterator<Item = Seen<'o>> {
    let session = judged.session.as_ref();
    let seen = move |found| Seen { path, found, session, edits: judged.edits_of(found) };
    judged.findings.iter().map(seen)
}

/// The word for a severity, the same in every format.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// How many of something, over all targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
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
    pub(crate) safe: usize,
    pub(crate) bold: usize,
    pub(crate) none: usize,
    /// Targets that a repair would change or has changed.
    pub(crate) changed: usize,
}

impl Totals {
    pub(crate) fn of(outcomes: &[Outcome]) -> Totals {
        let mut totals = Totals::default();
        for outcome in outcomes {
            match &outcome.result {
                Verdict::Skipped => totals.skipped += 1,
                Verdict::Failed(_) => totals.failed += 1,
                Verdict::Judged(judged) => totals.add(judged),
            }
        }
        totals
    }

    fn add(&mut self, judged: &Judged) {
        self.files += 1;
        self.messages += judged.messages;
        self.findings += judged.counts.total();
        self.fixed += judged.fixed;
        self.planned += judged.planned;
        self.failed += judged.failures.len();
        self.changed += usize::from(judged.diff.is_some() || !judged.applied.is_empty());
        for kind in judged.counts.iter() {
            match kind.fix.applicability {
                Applicability::Safe => self.safe += kind.count,
                Applicability::Unsafe => self.bold += kind.count,
                Applicability::None => self.none += kind.count,
            }
        }
    }
}
