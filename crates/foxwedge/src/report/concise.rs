//! One line for each finding.

use std::io::{self, Write};

use super::{Seen, judged, of_file, unlisted_by_rule};
use crate::{
    outcome::Outcome,
    say::{BOLD, DIM, ERROR, WARNING, clean, cut, paint},
};
use foxwedge_core::{Applicability, Severity};

/// All findings, one a line.
pub(super) fn write(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    for (path, judged) in judged(outcomes) {
        for seen in of_file(path, judged) {
            line(out, seen)?;
        }
        for (rule, _, unlisted) in unlisted_by_rule(judged) {
            let (path, label) = (paint(BOLD, clean(path)), paint(ERROR, rule.label()));
            writeln!(out, "{path}: {label} … and {unlisted} more")?;
        }
    }
    Ok(())
}

fn line(out: &mut dyn Write, seen: Seen<'_>) -> io::Result<()> {
    let finding = &seen.found.finding;
    let style = match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    };
    let fixable = match finding.fix.applicability {
        Applicability::Safe => " [*]",
        Applicability::Unsafe => " [unsafe]",
        Applicability::None => "",
    };
    writeln!(
        out,
        "{}:{}:{}: {} {} {}{}",
        paint(BOLD, clean(seen.path)),
        seen.found.position.line,
        seen.found.position.column,
        paint(style, finding.rule.label()),
        cut(&clean(&finding.message), 240),
        paint(DIM, format_args!("({})", seen.found.message())),
        paint(DIM, fixable),
    )
}
