//! One tool call on one line: its name, subject and status.

use anstyle::Style;
use foxwedge_run::{RawJson, ToolStatus, ToolStatusReason};

use super::{SignSet, call_subject::answer_text, format_duration};
use crate::{
    language::localize,
    output::{BOLD, DIM, clean, width},
    screen::{StyledLine, fit_columns},
};

/// Columns of a tool's name.
const MAX_NAME: usize = 40;
/// Columns of the subject in a pipe.
const MAX_SUBJECT: usize = 72;
/// Columns of the subject in a narrow terminal.
const MIN_SUBJECT: usize = 12;
/// Columns of the error of a failed call.
const MAX_ERROR: usize = 60;

/// The data of a call line.
pub struct CallLine<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// What the call works on.
    pub subject: &'a str,
    /// Its status.
    pub status: ToolStatus,
    /// Why it has that status.
    pub reason: Option<ToolStatusReason>,
    /// In milliseconds.
    pub duration: Option<u64>,
    /// The result.
    pub content: Option<&'a RawJson>,
    /// Nesting depth: number of parent calls.
    pub depth: usize,
}

impl CallLine<'_> {
    /// The line. The subject is cut before the status.
    pub fn line(&self, signs: SignSet, columns: Option<usize>) -> StyledLine {
        let (sign, style) = signs.call(self.status);
        let indent = "  ".repeat(self.depth.min(8));
        let name = fit_columns(&clean(self.name), MAX_NAME);
        let status = localize(status_text(self.status, self.reason, self.duration));
        let fixed = width(&indent) + width(&name) + width(&status) + 6;
        let room =
            columns.map_or(MAX_SUBJECT, |columns| columns.saturating_sub(fixed).max(MIN_SUBJECT));
        // The error gets the remaining columns, at least half of the room.
        let error = self.failure_text(
            columns.map_or(MAX_ERROR, |_| room.saturating_sub(width(self.subject)).max(room / 2)),
        );
        let room = room.saturating_sub(width(&error)).max(MIN_SUBJECT);
        let room = columns.map_or(MAX_SUBJECT, |_| room);
        let mut line = StyledLine::new()
            .with(style, format!("{indent}{sign} "))
            .with(BOLD, name)
            .with(Style::new(), "  ");
        if !self.subject.is_empty() {
            line =
                line.with(Style::new(), fit_columns(self.subject, room)).with(Style::new(), "  ");
        }
        line.with(style, status).with(DIM, error)
    }

    /// The error text of a failed call.
    fn failure_text(&self, room: usize) -> String {
        let failed =
            self.status == ToolStatus::Failed && self.reason != Some(ToolStatusReason::TimedOut);
        let error = self.content.filter(|_| failed).map(answer_text).unwrap_or_default();
        if error.is_empty() {
            error
        } else {
            format!(": {}", fit_columns(&error, room.saturating_sub(2)))
        }
    }
}

/// The status of a call as text. It claims no more than is known.
pub fn status_text(
    status: ToolStatus,
    reason: Option<ToolStatusReason>,
    milliseconds: Option<u64>,
) -> String {
    let time = milliseconds.and_then(format_duration);
    let with_time = |text: &str| match &time {
        Some(time) => format!("{text} {time}"),
        None => text.to_owned(),
    };
    let after = |text: &str| match &time {
        Some(time) => format!("{text} after {time}"),
        None => text.to_owned(),
    };
    match (status, reason) {
        (ToolStatus::Succeeded, Some(ToolStatusReason::NeverCalled)) => {
            "done, without a call".to_owned()
        }
        (ToolStatus::Succeeded, _) => with_time("done"),
        (ToolStatus::Failed, Some(ToolStatusReason::TimedOut)) => after("timed out"),
        (ToolStatus::Failed, _) => after("failed"),
        (ToolStatus::Denied, _) => "denied, did not run".to_owned(),
        (ToolStatus::Cancelled, Some(ToolStatusReason::Skipped)) => {
            "skipped, not started".to_owned()
        }
        (ToolStatus::Cancelled, Some(ToolStatusReason::CallCancelled)) => {
            "cancelled, not started".to_owned()
        }
        (ToolStatus::Cancelled, _) => "not started".to_owned(),
        (ToolStatus::Interrupted, _) => format!("{}, may have run", after("stopped")),
        (ToolStatus::HandedOver, _) => "handed over".to_owned(),
        (ToolStatus::AwaitingApproval, _) => "waiting for approval".to_owned(),
        (ToolStatus::Running, _) => with_time("running"),
        (ToolStatus::Pending, _) => "pending".to_owned(),
        (ToolStatus::Unknown, _) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn call<'a>(
        status: ToolStatus,
        subject: &'a str,
        content: Option<&'a RawJson>,
    ) -> CallLine<'a> {
        let (name, duration, depth) = ("Bash", Some(3_140), 0);
        CallLine { name, subject, status, reason: None, duration, content, depth }
    }

    #[test]
    fn line_shows_the_status_of_a_call() {
        let error = RawJson::string("exit code 2\nmore");
        let table = [
            (ToolStatus::Succeeded, "✓ Bash  make  done 3.1s"),
            (ToolStatus::Failed, "✗ Bash  make  failed after 3.1s: exit code 2 more"),
            (ToolStatus::Denied, "✗ Bash  make  denied, did not run"),
            (ToolStatus::Cancelled, "⊘ Bash  make  not started"),
            (ToolStatus::Interrupted, "⚠ Bash  make  stopped after 3.1s, may have run"),
            (ToolStatus::HandedOver, "→ Bash  make  handed over"),
            (ToolStatus::AwaitingApproval, "? Bash  make  waiting for approval"),
            (ToolStatus::Running, "● Bash  make  running 3.1s"),
        ];
        for (status, expected) in table {
            let drawn = call(status, "make", Some(&error)).line(SignSet::Unicode, None).draw(None);
            assert_eq!(strip_str(&drawn).to_string().trim_end(), expected);
        }
    }

    #[test]
    fn status_is_never_cut() {
        let subject = "cargo test --workspace --all-targets --locked";
        let drawn = call(ToolStatus::Interrupted, subject, None).line(SignSet::Ascii, Some(60));
        let line = strip_str(&drawn.draw(Some(60))).to_string();
        assert_eq!(line, "! Bash  cargo test --work…  stopped after 3.1s, may have run\n");
    }
}
