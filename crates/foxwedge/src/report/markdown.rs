//! A table to paste into an issue or a comment.

use std::io::{self, Write};

use super::{edits, findings, summary, unlisted};
use crate::{
    check_settings::CheckSettings,
    cli_output::{clean, cut},
    outcome::TargetOutcome,
};

/// Rows of the table: a comment has a limited size.
const MAX_ROWS: usize = 200;

/// A table and a summary.
pub(super) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    ask: &CheckSettings,
) -> io::Result<()> {
    out.write_all(b"### foxwedge\n\n")?;
    let listed = findings(outcomes).count();
    let count = listed + unlisted(outcomes);
    if count > 0 {
        out.write_all(b"| Place | Rule | What | Fix |\n|---|---|---|---|\n")?;
    }
    for seen in findings(outcomes).take(MAX_ROWS) {
        let finding = &seen.located.finding;
        writeln!(
            out,
            "| {}:{}:{} `{}` | {} {} | {} | {} |",
            escape_cell(seen.path),
            seen.located.position.line,
            seen.located.position.column,
            seen.located.message(),
            finding.rule.label(),
            finding.rule.name,
            escape_cell(&finding.message),
            finding.fix.applicability.name(),
        )?;
    }
    if count > listed.min(MAX_ROWS) {
        writeln!(out, "| … and {} more | | | |", count - listed.min(MAX_ROWS))?;
    }
    if count > 0 {
        out.write_all(b"\n")?;
    }
    write_repairs(out, outcomes)?;
    let sentence = summary::summary_line(outcomes, ask);
    write!(out, "{}", anstream::adapter::strip_str(&sentence))
}

/// A table of what was repaired.
fn write_repairs(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    let (count, listed) = (edits::total(outcomes), edits::steps(outcomes).count());
    if count == 0 {
        return Ok(());
    }
    out.write_all(b"| Fixed | Rule | Strategy | What was done |\n|---|---|---|---|\n")?;
    for step in edits::steps(outcomes).take(MAX_ROWS) {
        let edit = &step.applied.edit;
        let line = step.applied.position.map(|place| format!(":{}", place.line));
        writeln!(
            out,
            "| {}{} `{}` | FW{} {} | {} | {} |",
            escape_cell(step.path),
            line.unwrap_or_default(),
            step.message(),
            edit.code,
            step.name(),
            edit.strategy.name(),
            escape_cell(&edit.note),
        )?;
    }
    if count > listed.min(MAX_ROWS) {
        writeln!(out, "| … and {} more | | | |", count - listed.min(MAX_ROWS))?;
    }
    out.write_all(b"\n")
}

/// Text that stays inside its cell.
pub(crate) fn escape_cell(text: &str) -> String {
    cut(&clean(text), 240).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
