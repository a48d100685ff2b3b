//! One line for each finding.

use std::io::{self, Write};

use super::{ReportedFinding, file_findings, file_reports, unlisted_by_rule};
use foxwedge_core::{FixApplicability, Severity};
use foxwedge_local::{
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
            writeln!(out, "{path}: {label} … and {unlisted} more")?;
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
        FixApplicability::Safe => " [*]",
        FixApplicability::Unsafe => " [unsafe]",
        FixApplicability::None => "",
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
        cut(&clean(&finding.message), 240),
        paint(DIM, place),
        paint(DIM, fixable),
    )
}
