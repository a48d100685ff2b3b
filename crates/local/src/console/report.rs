//! A repair plan as Markdown, to paste into an issue or a message. It has no conversation content
//! except the call ids and tool names in the notes of the edits.

use std::fmt::Write as _;

use foxwedge_core::rules;

use super::{ConsoleSessionFile, plan_preview::ConsoleRepairPlan, repair_rows::strategy_word};
use crate::output::{clean, escape_cell, pluralize};

/// Edits that are listed. The size of an issue comment is limited.
const MAX_LISTED_EDITS: usize = 200;

pub(super) fn markdown(file: &ConsoleSessionFile, plan: &ConsoleRepairPlan) -> String {
    let (before, after) = (&plan.before, &plan.after);
    let mut text = format!("### Repair of {} `{}`\n\n", file.entry.product, clean(&file.entry.id));
    // Writing to a string cannot fail.
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
    if plan.id.is_none() {
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
    for edit in plan.edits.iter().take(MAX_LISTED_EDITS) {
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
    let more = plan.edits.len().saturating_sub(plan.edits.iter().take(MAX_LISTED_EDITS).count());
    if more > 0 {
        let _ = writeln!(text, "| … and {more} more | | | |");
    }
    text
}
