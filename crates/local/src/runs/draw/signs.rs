//! The signs at the start of lines, with ASCII variants.

use std::env;

use anstyle::Style;
use foxwedge_run::{Outcome, TaskStatus, ToolStatus};

use crate::output::{DIM, ERROR, FRAME, GOOD, WARNING};

/// The set of signs that the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignSet {
    /// Signs such as ✓ and ●.
    Unicode,
    /// One ASCII character for each sign.
    Ascii,
}

impl SignSet {
    /// The set for the current locale: ASCII if its encoding is not UTF-8.
    pub fn here() -> SignSet {
        SignSet::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> SignSet {
        let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
        match locale.map(|locale| locale.to_ascii_lowercase().replace('-', "")) {
            Some(locale) if !locale.contains("utf8") => SignSet::Ascii,
            Some(_) | None => SignSet::Unicode,
        }
    }

    /// The sign of a tool call.
    pub fn call(self, status: ToolStatus) -> (&'static str, Style) {
        let (unicode, ascii, style) = match status {
            ToolStatus::Succeeded => ("✓", "+", GOOD),
            ToolStatus::Failed => ("✗", "x", ERROR),
            ToolStatus::Denied => ("✗", "x", WARNING),
            ToolStatus::Cancelled => ("⊘", "-", DIM),
            ToolStatus::Interrupted => ("⚠", "!", WARNING),
            ToolStatus::HandedOver => ("→", ">", GOOD),
            ToolStatus::AwaitingApproval => ("?", "?", WARNING),
            ToolStatus::Running => ("●", "*", FRAME),
            ToolStatus::Pending => ("○", "o", DIM),
            ToolStatus::Unknown => ("?", "?", DIM),
        };
        (self.choose(unicode, ascii), style)
    }

    /// The sign of a run; `None` is a running one.
    pub fn run(self, outcome: Option<Outcome>) -> (&'static str, Style) {
        let (unicode, ascii, style) = match outcome {
            None => ("●", "*", FRAME),
            Some(Outcome::Completed) => ("✓", "+", GOOD),
            Some(Outcome::Failed | Outcome::Refused) => ("✗", "x", ERROR),
            Some(Outcome::Stopped | Outcome::Replaced) => ("⊘", "-", WARNING),
            Some(Outcome::Interrupted | Outcome::MaxTurns | Outcome::NoText) => ("⚠", "!", WARNING),
        };
        (self.choose(unicode, ascii), style)
    }

    /// The sign of a task.
    pub fn task(self, status: TaskStatus) -> (&'static str, Style) {
        let (unicode, ascii, style) = match status {
            TaskStatus::Completed => ("✓", "+", GOOD),
            TaskStatus::InProgress => ("●", "*", FRAME),
            TaskStatus::Paused => ("⊘", "-", WARNING),
            TaskStatus::Pending => ("○", "o", DIM),
            TaskStatus::Unknown => ("?", "?", DIM),
        };
        (self.choose(unicode, ascii), style)
    }

    /// Prefix of a sub-agent's lines.
    pub fn below(self) -> &'static str {
        self.choose("▸", ">")
    }

    /// Prefix of thoughts.
    pub fn thought(self) -> &'static str {
        self.choose("┊", "~")
    }

    /// Separator between the parts of a line.
    pub fn dot(self) -> &'static str {
        self.choose(" · ", " - ")
    }

    fn choose(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            SignSet::Unicode => unicode,
            SignSet::Ascii => ascii,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_decides_which_signs_are_shown() {
        let table = [
            ("", "", "", SignSet::Unicode),
            ("", "", "en_US.UTF-8", SignSet::Unicode),
            ("", "", "C.utf8", SignSet::Unicode),
            ("", "", "C", SignSet::Ascii),
            ("", "POSIX", "en_US.UTF-8", SignSet::Ascii),
            ("C.UTF-8", "C", "C", SignSet::Unicode),
            ("de_DE.ISO-8859-1", "", "", SignSet::Ascii),
        ];
        for (all, kind, lang, expected) in table {
            let variable = |name: &str| match name {
                "LC_ALL" => Some(all.to_owned()),
                "LC_CTYPE" => Some(kind.to_owned()),
                _ => Some(lang.to_owned()),
            };
            assert_eq!(SignSet::of(variable), expected, "{all} {kind} {lang}");
        }
    }

    #[test]
    fn ascii_is_ascii() {
        for status in ToolStatus::ALL {
            assert!(SignSet::Ascii.call(status).0.is_ascii());
        }
        for outcome in Outcome::ALL {
            assert!(SignSet::Ascii.run(Some(outcome)).0.is_ascii());
        }
    }
}
