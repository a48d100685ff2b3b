//! One call, on one line: what it is, what it works on, and what became of it.

use anstyle::Style;
use foxwedge_run::{RawJson, ToolStatus, ToolStatusReason};

use super::{SignSet, call_subject::answer_text, format_duration};
use crate::{
    cli_output::{BOLD, DIM, clean, width},
    screen::{StyledLine, fit_columns},
};

/// Columns of a tool's name that are drawn.
const NAME: usize = 40;
/// Columns of what a call works on, in a pipe.
const ABOUT: usize = 72;
/// Columns of what it works on that stay, however narrow the terminal is.
const LEAST: usize = 12;
/// Columns of what a failed call said.
const SAID: usize = 60;

/// A call, as it is drawn.
pub(crate) struct CallLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) status: ToolStatus,
    pub(crate) reason: Option<ToolStatusReason>,
    /// How long it worked, in milliseconds.
    pub(crate) duration: Option<u64>,
    pub(crate) content: Option<&'a RawJson>,
    /// How many calls it works for.
    pub(crate) depth: usize,
}

impl CallLine<'_> {
    /// The line. What became of the call is always seen; what it works on gives way.
    pub(crate) fn line(&self, signs: SignSet, columns: Option<usize>) -> StyledLine {
        let (sign, style) = signs.call(self.status);
        let indent = "  ".repeat(self.depth.min(8));
        let name = fit_columns(&clean(self.name), NAME);
        let verdict = status_text(self.status, self.reason, self.duration);
        let fixed = width(&indent) + width(&name) + width(&verdict) + 6;
        let room = columns.map_or(ABOUT, |columns| columns.saturating_sub(fixed).max(LEAST));
        // What it said gets what is left, and half of the room at least.
        let said = self.failure_text(
            columns.map_or(SAID, |_| room.saturating_sub(width(self.subject)).max(room / 2)),
        );
        let room = columns.map_or(ABOUT, |_| room.saturating_sub(width(&said)).max(LEAST));
        let mut line = StyledLine::new()
            .with(style, format!("{indent}{sign} "))
            .with(BOLD, name)
            .with(Style::new(), "  ");
        if !self.subject.is_empty() {
            line =
                line.with(Style::new(), fit_columns(self.subject, room)).with(Style::new(), "  ");
        }
        line.with(style, verdict).with(DIM, said)
    }

    /// Why it failed, in its own words.
    fn failure_text(&self, room: usize) -> String {
        let failed =
            self.status == ToolStatus::Failed && self.reason != Some(ToolStatusReason::TimedOut);
        let said = self.content.filter(|_| failed).map(answer_text).unwrap_or_default();
        if said.is_empty() {
            said
        } else {
            format!(": {}", fit_columns(&said, room.saturating_sub(2)))
        }
    }
}

/// What became of a call, in words that claim no more than is known.
pub(crate) fn status_text(
    status: ToolStatus,
    reason: Option<ToolStatusReason>,
    milliseconds: Option<u64>,
) -> String {
    let time = milliseconds.and_then(format_duration);
    let behind = |words: &str| match &time {
        Some(time) => format!("{words} {time}"),
        None => words.to_owned(),
    };
    let after = |words: &str| match &time {
        Some(time) => format!("{words} after {time}"),
        None => words.to_owned(),
    };
    match (status, reason) {
        (ToolStatus::Succeeded, Some(ToolStatusReason::NeverCalled)) => {
            "done, and nobody called it".to_owned()
        }
        (ToolStatus::Succeeded, _) => behind("done"),
        (ToolStatus::Failed, Some(ToolStatusReason::TimedOut)) => after("timed out"),
        (ToolStatus::Failed, _) => after("failed"),
        (ToolStatus::Denied, _) => "denied, did not run".to_owned(),
        (ToolStatus::Cancelled, Some(ToolStatusReason::Skipped)) => {
            "skipped, not started".to_owned()
        }
        (ToolStatus::Cancelled, Some(ToolStatusReason::CallCancelled)) => {
            "called off, not started".to_owned()
        }
        (ToolStatus::Cancelled, _) => "not started".to_owned(),
        (ToolStatus::Interrupted, _) => format!("{}, may have run", after("stopped")),
        (ToolStatus::HandedOver, _) => "handed over".to_owned(),
        (ToolStatus::AwaitingApproval, _) => "asked".to_owned(),
        (ToolStatus::Running, _) => behind("running"),
        (ToolStatus::Pending, _) => "pending".to_owned(),
        (ToolStatus::Unknown, _) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn card<'a>(status: ToolStatus, about: &'a str, content: Option<&'a RawJson>) -> CallLine<'a> {
        let (name, span, depth) = ("Bash", Some(3_140), 0);
        CallLine { name, subject: about, status, reason: None, duration: span, content, depth }
    }

    #[test]
    fn a_line_says_what_became_of_a_call() {
        let said = RawJson::string("exit code 2\nmore");
        let table = [
            (ToolStatus::Succeeded, "✓ Bash  make  done 3.1s"),
            (ToolStatus::Failed, "✗ Bash  make  failed after 3.1s: exit code 2 more"),
            (ToolStatus::Denied, "✗ Bash  make  denied, did not run"),
            (ToolStatus::Cancelled, "⊘ Bash  make  not started"),
            (ToolStatus::Interrupted, "⚠ Bash  make  stopped after 3.1s, may have run"),
            (ToolStatus::HandedOver, "→ Bash  make  handed over"),
            (ToolStatus::AwaitingApproval, "? Bash  make  asked"),
            (ToolStatus::Running, "● Bash  make  running 3.1s"),
        ];
        for (status, expected) in table {
            let drawn = card(status, "make", Some(&said)).line(SignSet::Unicode, None).draw(None);
            assert_eq!(strip_str(&drawn).to_string().trim_end(), expected);
        }
    }

    #[test]
    fn what_became_of_a_call_is_never_cut_off() {
        let about = "cargo test --workspace --all-targets --locked";
        let drawn = card(ToolStatus::Interrupted, about, None).line(SignSet::Ascii, Some(60));
        let line = strip_str(&drawn.draw(Some(60))).to_string();
        assert_eq!(line, "! Bash  cargo test --work…  stopped after 3.1s, may have run\n");
    }
}
