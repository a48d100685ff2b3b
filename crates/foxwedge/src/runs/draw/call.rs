//! One call, on one line: what it is, what it works on, and what became of it.

use anstyle::Style;
use foxwedge_run::{Json, Reason, Status};

use super::{Signs, about::answer, span};
use crate::{
    say::{BOLD, DIM, clean, width},
    screen::{Line, fit},
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
pub(crate) struct Card<'a> {
    pub(crate) name: &'a str,
    pub(crate) about: &'a str,
    pub(crate) status: Status,
    pub(crate) reason: Option<Reason>,
    /// How long it worked, in milliseconds.
    pub(crate) span: Option<u64>,
    pub(crate) content: Option<&'a Json>,
    /// How many calls it works for.
    pub(crate) depth: usize,
}

impl Card<'_> {
    /// The line. What became of the call is always seen; what it works on gives way.
    pub(crate) fn line(&self, signs: Signs, columns: Option<usize>) -> Line {
        let (sign, style) = signs.call(self.status);
        let indent = "  ".repeat(self.depth.min(8));
        let name = fit(&clean(self.name), NAME);
        let verdict = verdict(self.status, self.reason, self.span);
        let fixed = width(&indent) + width(&name) + width(&verdict) + 6;
        let room = columns.map_or(ABOUT, |columns| columns.saturating_sub(fixed).max(LEAST));
        // What it said gets what is left, and half of the room at least.
        let said = self
            .said(columns.map_or(SAID, |_| room.saturating_sub(width(self.about)).max(room / 2)));
        let room = columns.map_or(ABOUT, |_| room.saturating_sub(width(&said)).max(LEAST));
        let mut line = Line::new()
            .with(style, format!("{indent}{sign} "))
            .with(BOLD, name)
            .with(Style::new(), "  ");
        if !self.about.is_empty() {
            line = line.with(Style::new(), fit(self.about, room)).with(Style::new(), "  ");
        }
        line.with(style, verdict).with(DIM, said)
    }

    /// Why it failed, in its own words.
    fn said(&self, room: usize) -> String {
        let failed = self.status == Status::Failed && self.reason != Some(Reason::TimedOut);
        let said = self.content.filter(|_| failed).map(answer).unwrap_or_default();
        if said.is_empty() { said } else { format!(": {}", fit(&said, room.saturating_sub(2))) }
    }
}

/// What became of a call, in words that claim no more than is known.
pub(crate) fn verdict(status: Status, reason: Option<Reason>, milliseconds: Option<u64>) -> String {
    let time = milliseconds.and_then(span);
    let behind = |words: &str| match &time {
        Some(time) => format!("{words} {time}"),
        None => words.to_owned(),
    };
    let after = |words: &str| match &time {
        Some(time) => format!("{words} after {time}"),
        None => words.to_owned(),
    };
    match (status, reason) {
        (Status::Succeeded, Some(Reason::NeverCalled)) => "done, and nobody called it".to_owned(),
        (Status::Succeeded, _) => behind("done"),
        (Status::Failed, Some(Reason::TimedOut)) => after("timed out"),
        (Status::Failed, _) => after("failed"),
        (Status::Denied, _) => "denied, did not run".to_owned(),
        (Status::Cancelled, Some(Reason::Skipped)) => "skipped, not started".to_owned(),
        (Status::Cancelled, Some(Reason::CalledOff)) => "called off, not started".to_owned(),
        (Status::Cancelled, _) => "not started".to_owned(),
        (Status::Interrupted, _) => format!("{}, may have run", after("stopped")),
        (Status::HandedOver, _) => "handed over".to_owned(),
        (Status::AwaitingApproval, _) => "asked".to_owned(),
        (Status::Running, _) => behind("running"),
        (Status::Pending, _) => "pending".to_owned(),
        (Status::Unknown, _) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn card<'a>(status: Status, about: &'a str, content: Option<&'a Json>) -> Card<'a> {
        let (name, span, depth) = ("Bash", Some(3_140), 0);
        Card { name, about, status, reason: None, span, content, depth }
    }

    #[test]
    fn a_line_says_what_became_of_a_call() {
        let said = Json::string("exit code 2\nmore");
        let table = [
            (Status::Succeeded, "✓ Bash  make  done 3.1s"),
            (Status::Failed, "✗ Bash  make  failed after 3.1s: exit code 2 more"),
            (Status::Denied, "✗ Bash  make  denied, did not run"),
            (Status::Cancelled, "⊘ Bash  make  not started"),
            (Status::Interrupted, "⚠ Bash  make  stopped after 3.1s, may have run"),
            (Status::HandedOver, "→ Bash  make  handed over"),
            (Status::AwaitingApproval, "? Bash  make  asked"),
            (Status::Running, "● Bash  make  running 3.1s"),
        ];
        for (status, expected) in table {
            let drawn = card(status, "make", Some(&said)).line(Signs::Unicode, None).draw(None);
            assert_eq!(strip_str(&drawn).to_string().trim_end(), expected);
        }
    }

    #[test]
    fn what_became_of_a_call_is_never_cut_off() {
        let about = "cargo test --workspace --all-targets --locked";
        let drawn = card(Status::Interrupted, about, None).line(Signs::Ascii, Some(60));
        let line = strip_str(&drawn.draw(Some(60))).to_string();
        assert_eq!(line, "! Bash  cargo test --work…  stopped after 3.1s, may have run\n");
    }
}
