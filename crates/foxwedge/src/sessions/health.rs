//! How a session is, in a word.

use anstyle::Style;
use foxwedge_core::{FindingCounts, Severity};
use serde::Serialize;

use crate::say::{ERROR, GOOD, WARNING, paint};

/// How a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Health {
    /// Nothing is wrong with it.
    Ok,
    /// Its agent goes on with it, but not with all of it.
    LosingHistory,
    /// Its agent or its provider refuses it.
    Bricked,
    /// We cannot say.
    Unreadable,
}

impl Health {
    pub(crate) const ALL: [Health; 4] =
        [Health::Ok, Health::LosingHistory, Health::Bricked, Health::Unreadable];

    /// From what was found.
    pub(crate) fn of(counts: &FindingCounts) -> Health {
        match counts.iter().find(|kind| kind.severity == Severity::Error) {
            Some(_) => Health::Bricked,
            None if counts.total() == 0 => Health::Ok,
            None => Health::LosingHistory,
        }
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::LosingHistory => "losing history",
            Health::Bricked => "bricked",
            Health::Unreadable => "unreadable",
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Health::Ok => "✓",
            Health::LosingHistory => "!",
            Health::Bricked => "✗",
            Health::Unreadable => "?",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Health::Ok => GOOD,
            Health::LosingHistory => WARNING,
            Health::Bricked | Health::Unreadable => ERROR,
        }
    }

    /// Sign and word, in colour.
    pub(crate) fn painted(self) -> String {
        paint(self.style(), format_args!("{} {}", self.sign(), self.word()))
    }
}
