//! One line for each finding.

use std::io::{self, Write};

use super::{ReportedFinding, file_findings, file_reports, unlisted_by_rule};
use crate::{
    cli_output::{BOLD, DIM, ERROR, WARNING, clean, cut, paint},
    outcome::TargetOutcome,
};
use foxwedge_core::{FixApplicability, Severity};

/// All findings, one a line.
pub(super) fn write(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    for (path, judged) in file_reports(outcomes) {
        for seen in file_findings(path, judged) {
            write_finding(out, seen)?;
        }
        for (rule, _, unlisted) in unlisted_by_rule(judged) {
            let (path, label) = (paint(BOLD, clean(path)), paint(ERROR, rule.label()));
            writeln!(out, "{path}: {label} … and {unlisted} more")?;
        }
    }
    Ok(())
}

fn write_finding(out: &mut dyn Write, seen: ReportedFinding<'_>) -> io::Result<()> {
    let finding = &seen.located.finding;
    let style = match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    };
    let fixable = match finding.fix.applicability {
        FixApplicability::Safe => " [*]",
        FixApplicability::Unsafe => " [unsafe]",
        FixApplicability::None => "",
    };
    writeln!(
        out,
        "{}:{}:{}: {} {} {}{}",
        paint(BOLD, clean(seen.path)),
        seen.located.position.line,
        seen.located.position.column,
        paint(style, finding.rule.label()),
        cut(&clean(&finding.message), 240),
        paint(DIM, format_args!("({})", seen.located.message())),
        paint(DIM, fixable),
    )
}
