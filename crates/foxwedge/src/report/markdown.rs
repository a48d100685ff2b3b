//! A table to paste into an issue or a comment.

use std::io::{self, Write};

use super::{findings, summary};
use crate::{
    ask::Ask,
    outcome::Outcome,
    say::{clean, cut},
};

/// Rows of the table: a comment has a limited size.
const MOST: usize = 200;

/// A table and a summary.
pub(super) fn write(out: &mut dyn Write, outcomes: &[Outcome], ask: &Ask) -> io::Result<()> {
    out.write_all(b"### foxwedge\n\n")?;
    let count = findings(outcomes).count();
    if count > 0 {
        out.write_all(b"| Place | Rule | What | Fix |\n|---|---|---|---|\n")?;
    }
    for seen in findings(outcomes).take(MOST) {
        let finding = &seen.found.finding;
        writeln!(
            out,
            "| {}:{}:{} `{}` | {} {} | {} | {} |",
            cell(seen.path),
            seen.found.position.line,
            seen.found.position.column,
            seen.found.message(),
            finding.rule.label(),
            finding.rule.name,
            cell(&finding.message),
            finding.fix.applicability.name(),
        )?;
    }
    if count > MOST {
        writeln!(out, "| … and {} more | | | |", count - MOST)?;
    }
    if count > 0 {
        out.write_all(b"\n")?;
    }
    let sentence = summary::sentence(outcomes, ask);
    write!(out, "{}", anstream::adapter::strip_str(&sentence))
}

/// Text that stays inside its cell.
pub(crate) fn cell(text: &str) -> String {
    cut(&clean(text), 240).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
