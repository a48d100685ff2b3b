//! Words for what was said and how things ended.

use anstyle::Style;
use foxwedge_run::{Ended, Outcome, Status, Summary};

use super::{Block, Screen};
use crate::{
    chat::terminal::row::Row,
    runs::draw::word,
    say::{BOLD, DIM, count},
};

/// Lines of a prompt that are repeated.
const LINES: usize = 20;

impl Screen {
    /// Repeats a prompt above.
    pub(super) fn echo(&mut self, text: &str) {
        let mut rows = Vec::new();
        let lines = text.trim_end().lines();
        for (at, line) in lines.clone().take(LINES).enumerate() {
            let mark = if at == 0 { "> " } else { "  " };
            // What is longer than a screen is not worth one.
            let line: String = line.chars().take(2_000).collect();
            let row = Row::of(DIM, mark).with(BOLD, &line);
            rows.extend(row.wrap(self.width, "  "));
        }
        if let Some(more @ 1..) = lines.count().checked_sub(LINES) {
            let s = if more == 1 { "" } else { "s" };
            rows.push(Row::of(DIM, &format!("  … {more} more line{s}")));
        }
        self.say(Block::Prompt, rows);
    }

    /// Says how a run ended, unless it just did what it should.
    pub(super) fn tell_ending(&mut self, ended: &Ended, summary: &Summary) {
        let (sign, style) = self.signs.run(ended.outcome);
        let said = match ended.outcome {
            None | Some(Outcome::Completed) => return,
            Some(Outcome::Stopped) => stopped(summary),
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
                    format!("{}: {message}", word(outcome))
                }
                None => word(outcome).to_owned(),
            },
        };
        let row = Row::of(style, &format!("{sign} ")).with(Style::new(), &said);
        let rows = row.wrap(self.width, "  ");
        self.say(Block::Note, rows);
    }
}

/// What a stop left, in numbers.
fn stopped(summary: &Summary) -> String {
    let kept = [Status::Succeeded, Status::Failed, Status::HandedOver];
    let kept: usize = kept.iter().map(|status| summary.count(*status)).sum();
    let mut parts = Vec::new();
    if kept > 0 {
        parts.push(format!("kept {}", count(kept, "result")));
    }
    let others = [
        (Status::Denied, "denied"),
        (Status::Cancelled, "cancelled"),
        (Status::Interrupted, "interrupted"),
    ];
    for (status, word) in others {
        match summary.count(status) {
            0 => {}
            number => parts.push(format!("{number} {word}")),
        }
    }
    match parts.is_empty() {
        true => "stopped; the history is valid".to_owned(),
        false => format!("stopped: {}; the history is valid", parts.join(", ")),
    }
}
