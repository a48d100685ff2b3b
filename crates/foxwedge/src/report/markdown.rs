//! A table to paste into an issue or a comment.

use std::io::{self, Write};

use super::{edits, findings, summary, unlisted};
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
    let listed = findings(outcomes).count();
    let count = listed + unlisted(outcomes);
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
    if count > listed.min(MOST) {
        writeln!(out, "| … and {} more | | | |", count - listed.min(MOST))?;
    }
    if count > 0 {
        out.write_all(b"\n")?;
    }
    repaired(out, outcomes)?;
    let sentence = summary::sentence(outcomes, ask);
    write!(out, "{}", anstream::adapter::strip_str(&sentence))
}

/// A table of what was repaired.
fn repaired(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    let (count, listed) = (edits::total(outcomes), edits::steps(outcomes).count());
    if count == 0 {
        return Ok(());
    }
    out.write_all(b"| Fixed | Rule | Strategy | What was done |\n|---|---|---|---|\n")?;
    for step in edits::steps(outcomes).take(MOST) {
        let edit = &step.applied.edit;
        let line = step.applied.position.map(|place| format!(":{}", place.line));
        writeln!(
            out,
            "| {}{} `{}` | FW{} {} | {} | {} |",
            cell(step.path),
            line.unwrap_or_default(),
            step.message(),
            edit.code,
            step.name(),
            edit.strategy.name(),
            cell(&edit.note),
        )?;
    }
    if count > listed.min(MOST) {
        writeln!(out, "| … and {} more | | | |", count - listed.min(MOST))?;
    }
    out.write_all(b"\n")
}

/// Text that stays inside its cell.
pub(crate) fn cell(text: &str) -> String {
    cut(&clean(text), 240).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
