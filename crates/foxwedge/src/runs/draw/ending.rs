//! The end of a run: how, and in numbers that add up.

use foxwedge_run::{Ended, Outcome, Status, Summary, Usage};

use super::{Signs, span};
use crate::{
    say::{BOLD, DIM, clean, count, cut},
    screen::Line,
};

/// Characters of a problem that are drawn.
const PROBLEM: usize = 240;

/// The line that a run ends with.
pub(crate) fn ended(
    signs: Signs,
    ended: &Ended,
    summary: &Summary,
    milliseconds: Option<u64>,
) -> Line {
    let (sign, style) = signs.run(ended.outcome);
    let word = ended.outcome.map_or("at work", word);
    let mut line = Line::new().with(style, format!("{sign} ")).with(BOLD, word);
    if let Some(time) = milliseconds.and_then(span) {
        let joint = match ended.outcome {
            Some(Outcome::Completed | Outcome::NoText) => "in",
            Some(_) | None => "after",
        };
        line = line.with(BOLD, format!(" {joint} {time}"));
    }
    if let Some(problem) = &ended.problem {
        let message = clean(&cut(problem.message.trim(), PROBLEM));
        line = line.with(style, format!(": {message}"));
    }
    line = line.with(DIM, format!("{}{}", signs.dot(), counts(summary)));
    match ended.usage.as_ref().and_then(tokens) {
        Some(tokens) => line.with(DIM, format!("{}{tokens}", signs.dot())),
        None => line,
    }
}

/// How a run ended, in words.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Stopped => "stopped",
        Outcome::Failed => "failed",
        Outcome::NoText => "ended without a text",
        Outcome::MaxTurns => "out of turns",
        Outcome::Refused => "refused",
        Outcome::Replaced => "replaced",
        Outcome::Interrupted => "interrupted",
    }
}

/// Calls in numbers: the parts add up to the whole.
pub(crate) fn counts(summary: &Summary) -> String {
    if summary.calls == 0 {
        return "no calls".to_owned();
    }
    let told = |status: Status| match status {
        Status::Succeeded => "done",
        Status::Failed => "failed",
        Status::Denied => "denied",
        Status::Cancelled => "not started",
        Status::Interrupted => "may have run",
        Status::HandedOver => "handed over",
        Status::AwaitingApproval => "asked",
        Status::Running => "running",
        Status::Pending => "pending",
        Status::Unknown => "unknown",
    };
    // What is over comes first.
    let order = Status::ALL.into_iter().filter(|it| it.is_final());
    let order = order.chain(Status::ALL.into_iter().filter(|it| !it.is_final()));
    let parts = order.map(|status| (summary.count(status), told(status)));
    let parts = parts.filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, word)| format!("{number} {word}")).collect();
    format!("{}: {}", count(summary.calls, "call"), parts.join(", "))
}

/// What it cost; nothing if nobody said.
fn tokens(usage: &Usage) -> Option<String> {
    if *usage == Usage::default() {
        return None;
    }
    let cached = match usage.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", thousands(cached)),
    };
    let (input, output) = (thousands(usage.input), thousands(usage.output));
    Some(format!("{input} tokens in{cached}, {output} out"))
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_commas() {
        let table = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, expected) in table {
            assert_eq!(thousands(number), expected);
        }
    }
}
