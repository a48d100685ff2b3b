//! One line for each finding.

use super::findings;
use crate::{
    outcome::Outcome,
    say::{BOLD, DIM, ERROR, WARNING, clean, cut, paint},
};
use foxwedge_core::{Applicability, Severity};

/// All findings, one a line.
pub(crate) fn render(outcomes: &[Outcome]) -> String {
    findings(outcomes)
        .map(|(path, found)| {
            let style = match found.finding.severity {
                Severity::Error => ERROR,
                Severity::Warning => WARNING,
            };
            let fixable = match found.finding.fix.applicability {
                Applicability::Safe => " [*]",
                Applicability::Unsafe => " [unsafe]",
                Applicability::None => "",
            };
            format!(
                "{}:{}:{}: {} {} {}{}\n",
                paint(BOLD, clean(path)),
                found.position.line,
                found.position.column,
                paint(style, found.finding.rule.label()),
                cut(&clean(&found.finding.message), 240),
                paint(DIM, format_args!("({})", found.message())),
                paint(DIM, fixable),
            )
        })
        .collect()
}
