//! A planned repair as Markdown, to paste into an issue or a message. What was said stands in it
//! only as far as the notes of a repair name it: calls and tools.

use std::fmt::Write as _;

use foxwedge_core::rules;

use super::{ConsoleSessionFile, plan_preview::ConsoleRepairPlan, repair_rows::strategy_word};
use crate::{
    cli_output::{clean, pluralize},
    report::escape_cell,
};

/// Edits that are listed: a comment has a limited size.
const MAX_LISTED_EDITS: usize = 200;

/// The whole report.
pub(super) fn markdown(place: &ConsoleSessionFile, planned: &ConsoleRepairPlan) -> String {
    let (before, after) = (&planned.before, &planned.after);
    let mut text =
        format!("### Repair of {} `{}`\n\n", place.entry.product, clean(&place.entry.id));
    // Writing into a text cannot fail.
    let _ = writeln!(
        text,
        "{} before, {} after. {} become {}; {} bytes become {}.\n",
        before.health.name(),
        after.health.name(),
        pluralize(before.view.len(), "message"),
        after.view.len(),
        before.bytes,
        after.bytes,
    );
    if planned.id.is_none() {
        text.push_str("Nothing would change.\n");
        return text;
    }
    if !before.findings.is_empty() {
        text.push_str("| Rule | What | Before | After |\n|---|---|---|---|\n");
        for (label, number) in &before.findings {
            let summary = rules::find_rule(label).map_or("", |rule| rule.summary);
            let left = after.findings.get(label).copied().unwrap_or(0);
            let _ = writeln!(text, "| {label} | {} | {number} | {left} |", escape_cell(summary));
        }
        text.push('\n');
    }
    text.push_str("| Message | Done | Rule | Note |\n|---|---|---|---|\n");
    for edit in planned.edits.iter().take(MAX_LISTED_EDITS) {
        let rule = rules::ALL.iter().find(|rule| rule.code == edit.code);
        let _ = writeln!(
            text,
            "| {} | {} | FW{} {} | {} |",
            edit.message,
            strategy_word(edit.strategy),
            edit.code,
            rule.map_or("", |rule| rule.name),
            escape_cell(&edit.note),
        );
    }
    let more =
        planned.edits.len().saturating_sub(planned.edits.iter().take(MAX_LISTED_EDITS).count());
    if more > 0 {
        let _ = writeln!(text, "| … and {more} more | | | |");
    }
    text
}
