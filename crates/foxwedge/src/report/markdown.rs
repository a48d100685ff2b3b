//! A table to paste into an issue or a comment.

use super::{findings, summary};
use crate::{
    ask::Ask,
    outcome::Outcome,
    say::{clean, cut},
};

/// Rows of the table: a comment has a limited size.
const MOST: usize = 200;

/// A table and a summary.
pub(crate) fn render(outcomes: &[Outcome], ask: &Ask) -> String {
    let mut text = "### foxwedge\n\n".to_owned();
    let count = findings(outcomes).count();
    if count > 0 {
        text.push_str("| Place | Rule | What | Fix |\n|---|---|---|---|\n");
    }
    for (path, found) in findings(outcomes).take(MOST) {
        text.push_str(&format!(
            "| {}:{}:{} `{}` | {} {} | {} | {} |\n",
            cell(path),
            found.position.line,
            found.position.column,
            found.message(),
            found.finding.rule.label(),
            found.finding.rule.name,
            cell(&found.finding.message),
            found.finding.fix.applicability.name(),
        ));
    }
    if count > MOST {
        text.push_str(&format!("| … and {} more | | | |\n", count - MOST));
    }
    if count > 0 {
        text.push('\n');
    }
    text + &anstream::adapter::strip_str(&summary::sentence(outcomes, ask, false)).to_string()
}

/// Text that stays inside its cell.
fn cell(text: &str) -> String {
    cut(&clean(text), 240).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
