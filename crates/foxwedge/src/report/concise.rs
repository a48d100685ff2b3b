//! One line for each finding.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::{ReportedFinding, file_findings, file_reports, finding_message, unlisted_by_rule};
use foxwedge_core::{FixApplicability, Severity};
use foxwedge_local::{
    language::localize,
    outcome::TargetOutcome,
    output::{BOLD, DIM, ERROR, WARNING, clean, cut, paint},
};

/// Writes all findings, one per line.
pub(super) fn write(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    for (path, report) in file_reports(outcomes) {
        for reported in file_findings(path, report) {
            write_finding(out, reported)?;
        }
        for (rule, _, unlisted) in unlisted_by_rule(report) {
            let (path, label) = (paint(BOLD, clean(path)), paint(ERROR, rule.label()));
            let more = localize(format!("… and {unlisted} more"));
            writeln!(out, "{path}: {label} {more}")?;
        }
    }
    Ok(())
}

fn write_finding(out: &mut dyn Write, reported: ReportedFinding<'_>) -> io::Result<()> {
    let finding = &reported.located.finding;
    let style = match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    };
    let fixable = match finding.fix.applicability {
        FixApplicability::Safe => Cow::Borrowed(" [*]"),
        FixApplicability::Unsafe => localize(" [unsafe]"),
        FixApplicability::None => Cow::Borrowed(""),
    };
    let place = match &reported.located.request {
        Some(request) => format!("({}, {})", reported.located.message(), clean(&request.ids())),
        None => format!("({})", reported.located.message()),
    };
    writeln!(
        out,
        "{}:{}:{}: {} {} {}{}",
        paint(BOLD, clean(reported.path)),
        reported.located.position.line,
        reported.located.position.column,
        paint(style, finding.rule.label()),
        cut(&clean(&finding_message(finding)), 240),
        paint(DIM, place),
        paint(DIM, fixable),
    )
}
