//! The last line of a run: its outcome, duration, calls and usage.

use foxwedge_run::{Outcome, RunEnd, RunSummary, RunUsage, ToolStatus};

use super::{SignSet, format_duration};
use crate::{
    language::localize,
    output::{BOLD, DIM, clean, cut, pluralize},
    screen::StyledLine,
};

/// Characters of a problem that are drawn.
const MAX_PROBLEM: usize = 240;

/// The last line of a run.
pub fn run_end_line(
    signs: SignSet,
    ended: &RunEnd,
    summary: &RunSummary,
    milliseconds: Option<u64>,
) -> StyledLine {
    let (sign, style) = signs.run(ended.outcome);
    let outcome = ended.outcome.map_or("running", outcome_text);
    let mut line = StyledLine::new().with(style, format!("{sign} ")).with(BOLD, localize(outcome));
    if let Some(time) = milliseconds.and_then(format_duration) {
        let preposition = match ended.outcome {
            Some(Outcome::Completed | Outcome::NoText) => "in",
            Some(_) | None => "after",
        };
        line = line.with(BOLD, localize(format!(" {preposition} {time}")));
    }
    if let Some(problem) = &ended.problem {
        let message = clean(&cut(problem.message.trim(), MAX_PROBLEM));
        line = line.with(style, format!(": {message}"));
    }
    line = line.with(DIM, format!("{}{}", signs.dot(), format_call_counts(summary)));
    match ended.usage.as_ref().and_then(format_usage) {
        Some(tokens) => line.with(DIM, format!("{}{tokens}", signs.dot())),
        None => line,
    }
}

/// An outcome as text.
pub fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Stopped => "stopped",
        Outcome::Failed => "failed",
        Outcome::NoText => "ended without text",
        Outcome::MaxTurns => "out of turns",
        Outcome::Refused => "refused",
        Outcome::Replaced => "replaced",
        Outcome::Interrupted => "interrupted",
    }
}

/// Number of calls by status. The parts add up to the total.
pub fn format_call_counts(summary: &RunSummary) -> String {
    if summary.calls == 0 {
        return localize("no calls").into_owned();
    }
    let label = |status: ToolStatus| match status {
        ToolStatus::Succeeded => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Denied => "denied",
        ToolStatus::Cancelled => "not started",
        ToolStatus::Interrupted => "may have run",
        ToolStatus::HandedOver => "handed over",
        ToolStatus::AwaitingApproval => "waiting for approval",
        ToolStatus::Running => "running",
        ToolStatus::Pending => "pending",
        ToolStatus::Unknown => "unknown",
    };
    // Final statuses come first.
    let order = ToolStatus::ALL.into_iter().filter(|it| it.is_final());
    let order = order.chain(ToolStatus::ALL.into_iter().filter(|it| !it.is_final()));
    let parts = order.map(|status| (summary.count(status), label(status)));
    let parts = parts.filter(|(number, _)| *number > 0);
    let parts: Vec<_> =
        parts.map(|(number, label)| localize(format!("{number} {label}"))).collect();
    format!("{}: {}", localize(pluralize(summary.calls, "call")), parts.join(", "))
}

/// Token usage; `None` if none was reported.
fn format_usage(usage: &RunUsage) -> Option<String> {
    if *usage == RunUsage::default() {
        return None;
    }
    let cached = match usage.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", format_thousands(cached)),
    };
    let (input, output) = (format_thousands(usage.input), format_thousands(usage.output));
    Some(localize(format!("{input} tokens in{cached}, {output} out")).into_owned())
}

fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_commas() {
        let table = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, expected) in table {
            assert_eq!(format_thousands(number), expected);
        }
    }
}
