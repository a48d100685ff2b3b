//! Rows for prompts and for the outcome of runs.

use anstyle::Style;
use foxwedge_run::{Outcome, RunEnd, RunSummary, ToolStatus};

use super::{ScreenBlock, TerminalScreen};
use crate::terminal::row::StyledRow;
use foxwedge_local::{
    language::{list_separator, localize},
    output::{BOLD, DIM, pluralize},
    runs::draw::outcome_text,
};

/// Maximum number of prompt lines that are echoed.
const MAX_PROMPT_LINES: usize = 20;

impl TerminalScreen {
    /// Echoes a prompt above the editor.
    pub(super) fn echo_prompt(&mut self, text: &str) {
        let mut rows = Vec::new();
        let lines = text.trim_end().lines();
        for (at, line) in lines.clone().take(MAX_PROMPT_LINES).enumerate() {
            let mark = if at == 0 { "> " } else { "  " };
            // Very long lines are truncated.
            let line: String = line.chars().take(2_000).collect();
            let row = StyledRow::of(DIM, mark).with(BOLD, &line);
            rows.extend(row.wrap(self.width, "  "));
        }
        if let Some(more @ 1..) = lines.count().checked_sub(MAX_PROMPT_LINES) {
            let s = if more == 1 { "" } else { "s" };
            rows.push(StyledRow::localized(DIM, &format!("  … {more} more line{s}")));
        }
        self.push_block(ScreenBlock::Prompt, rows);
    }

    /// Shows the outcome of a run, unless it completed.
    pub(super) fn push_run_ending(&mut self, ended: &RunEnd, summary: &RunSummary) {
        let (sign, style) = self.signs.run(ended.outcome);
        let text = match ended.outcome {
            None | Some(Outcome::Completed) => return,
            Some(Outcome::Stopped) => describe_stop(summary),
            Some(
                outcome @ (Outcome::Failed
                | Outcome::NoText
                | Outcome::MaxTurns
                | Outcome::Refused
                | Outcome::Replaced
                | Outcome::Interrupted),
            ) => match &ended.problem {
                Some(problem) => {
                    let message: String = problem.message.trim().chars().take(600).collect();
                    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
                    format!("{}: {message}", outcome_text(outcome))
                }
                None => outcome_text(outcome).to_owned(),
            },
        };
        let row = StyledRow::of(style, &format!("{sign} ")).with(Style::new(), &localize(text));
        let rows = row.wrap(self.width, "  ");
        self.push_block(ScreenBlock::Note, rows);
    }
}

/// Describes what a stopped run left, in numbers.
fn describe_stop(summary: &RunSummary) -> String {
    let kept = [ToolStatus::Succeeded, ToolStatus::Failed, ToolStatus::HandedOver];
    let kept: usize = kept.iter().map(|status| summary.count(*status)).sum();
    let mut parts = Vec::new();
    if kept > 0 {
        parts.push(format!("kept {}", pluralize(kept, "result")));
    }
    let others = [
        (ToolStatus::Denied, "denied"),
        (ToolStatus::Cancelled, "cancelled"),
        (ToolStatus::Interrupted, "interrupted"),
    ];
    for (status, label) in others {
        match summary.count(status) {
            0 => {}
            number => parts.push(format!("{number} {label}")),
        }
    }
    match parts.is_empty() {
        true => "stopped; the history is valid".to_owned(),
        false => {
            let parts: Vec<_> = parts.into_iter().map(localize).collect();
            format!("stopped: {}; the history is valid", parts.join(list_separator()))
        }
    }
}
