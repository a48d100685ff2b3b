//! A Markdown table for an issue or a pull request comment.

use std::io::{self, Write};

use super::{edits, findings, summary, unlisted};
use foxwedge_local::{
    check_settings::CheckSettings, language::in_english, outcome::TargetOutcome,
    output::escape_cell,
};

/// Max rows: comments have a size limit.
const MAX_ROWS: usize = 200;

/// Writes a table of findings, a table of repairs and a summary.
pub(super) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    settings: &CheckSettings,
) -> io::Result<()> {
    out.write_all(b"### foxwedge\n\n")?;
    let listed = findings(outcomes).count();
    let count = listed + unlisted(outcomes);
    if count > 0 {
        out.write_all(b"| Place | Rule | What | Fix |\n|---|---|---|---|\n")?;
    }
    for reported in findings(outcomes).take(MAX_ROWS) {
        let finding = &reported.located.finding;
        let request = reported.located.request.as_deref();
        let ids = request.map(|request| format!(" {}", escape_cell(&request.ids())));
        writeln!(
            out,
            "| {}:{}:{} `{}`{} | {} {} | {} | {} |",
            escape_cell(reported.path),
            reported.located.position.line,
            reported.located.position.column,
            reported.located.message(),
            ids.unwrap_or_default(),
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
    let sentence = in_english(|| summary::summary_line(outcomes, settings));
    write!(out, "{}", anstream::adapter::strip_str(&sentence))
}

/// Writes a table of applied repairs.
fn write_repairs(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    let (count, listed) = (edits::total(outcomes), edits::steps(outcomes).count());
    if count == 0 {
        return Ok(());
    }
    out.write_all(b"| Fixed | Rule | Strategy | What was done |\n|---|---|---|---|\n")?;
    for step in edits::steps(outcomes).take(MAX_ROWS) {
        let edit = &step.applied.edit;
        let line = step.applied.position.map(|position| format!(":{}", position.line));
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
