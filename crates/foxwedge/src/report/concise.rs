//! One line for each finding.

use std::io::{self, Write};

use super::findings;
use crate::{
    outcome::Outcome,
    say::{BOLD, DIM, ERROR, WARNING, clean, cut, paint},
};
use foxwedge_core::{Applicability, Severity};

/// All findings, one a line.
pub(super) fn write(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    for seen in findings(outcomes) {
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
        )?;
    }
    Ok(())
}
