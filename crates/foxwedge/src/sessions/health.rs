//! How a session is, in a word.

use anstyle::Style;
use foxwedge_dialect::session::FindingEffect;
use serde::Serialize;

use crate::say::{ERROR, GOOD, WARNING, paint};

/// How a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Health {
    /// Its agent opens all of it; what is odd about it, the agent copes with.
    Ok,
    /// Its agent opens it, but leaves something out.
    HistoryMissing,
    /// Its agent cannot open it, or the provider refuses what the agent sends.
    NeedsRepair,
    /// We cannot say.
    Unreadable,
}

impl Health {
    pub(crate) const ALL: [Health; 4] =
        [Health::Ok, Health::HistoryMissing, Health::NeedsRepair, Health::Unreadable];

    /// From what the findings mean to the agent.
    pub(crate) fn of(effects: impl IntoIterator<Item = FindingEffect>) -> Health {
        match effects.into_iter().max() {
            None | Some(FindingEffect::Coped) => Health::Ok,
            Some(FindingEffect::HidesHistory) => Health::HistoryMissing,
            Some(FindingEffect::Blocks) => Health::NeedsRepair,
        }
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::HistoryMissing => "history missing",
            Health::NeedsRepair => "needs repair",
            Health::Unreadable => "unreadable",
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Health::Ok => "✓",
            Health::HistoryMissing => "!",
            Health::NeedsRepair => "✗",
            Health::Unreadable => "?",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Health::Ok => GOOD,
            Health::HistoryMissing => WARNING,
            Health::NeedsRepair | Health::Unreadable => ERROR,
        }
    }

    /// Sign and word, in colour.
    pub(crate) fn painted(self) -> String {
        paint(self.style(), format_args!("{} {}", self.sign(), self.word()))
    }
}
