//! What is said about all targets: findings as data on one stream, talk on the other.

use foxwedge_core::Applicability;

use crate::{
    ask::Ask,
    cli::OutputFormat,
    judge::Look,
    outcome::{Found, Judged, Outcome, Verdict},
};

pub(crate) mod excerpt;
mod row;
mod full;
mod concise;
mod json;
mod github;
mod sarif;
mod markdown;
mod statistics;
pub(crate) mod summary;

/// What a format needs to know about each finding.
pub(crate) fn look(format: OutputFormat) -> Look {
    match format {
        OutputFormat::Full => Look { edits: true, excerpts: full::MOST },
        OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::Sarif => {
            Look { edits: true, excerpts: 0 }
        }
        OutputFormat::Concise | OutputFormat::Github | OutputFormat::Markdown => Look::default(),
    }
}

/// All findings in a format.
pub(crate) fn render(
    outcomes: &[Outcome],
    format: OutputFormat,
    ask: &Ask,
) -> anyhow::Result<String> {
    Ok(match format {
        OutputFormat::Full => {
            judged(outcomes).map(|(path, judged)| full::draw(path, judged, ask)).collect()
        }
        OutputFormat::Concise => concise::render(outcomes),
        OutputFormat::Json => json::document(outcomes)?,
        OutputFormat::JsonLines => json::lines(outcomes)?,
        OutputFormat::Github => github::render(outcomes),
        OutputFormat::Sarif => sarif::render(outcomes)?,
        OutputFormat::Markdown => markdown::render(outcomes, ask),
    })
}

/// How often each rule was broken.
pub(crate) fn statistics(outcomes: &[Outcome], format: OutputFormat) -> anyhow::Result<String> {
    statistics::render(outcomes, format)
}

/// Targets that were read, with their paths.
fn judged(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &Judged)> {
    outcomes.iter().filter_map(|outcome| match &outcome.result {
        Verdict::Judged(judged) => Some((outcome.path.as_str(), &**judged)),
        Verdict::Skipped | Verdict::Failed(_) => None,
    })
}

/// All findings with the path of their file.
fn findings(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &Found)> {
    judged(outcomes).flat_map(|(path, judged)| judged.findings.iter().map(move |f| (path, f)))
}

/// How many of something, over all targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: usize,
    pub(crate) messages: usize,
    pub(crate) findings: usize,
    pub(crate) fixed: usize,
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
        self.findings += judged.findings.len();
        self.fixed += judged.fixed;
        self.failed += judged.failures.len();
        self.changed += usize::from(judged.diff.is_some() || !judged.applied.is_empty());
        for found in &judged.findings {
            match found.finding.fix.applicability {
                Applicability::Safe => self.safe += 1,
                Applicability::Unsafe => self.bold += 1,
                Applicability::None => self.none += 1,
            }
        }
    }
}
