//! How a session is, in a word.

use anstyle::Style;
use foxwedge_sessions::FindingEffect;
use serde::Serialize;

use crate::cli_output::{ERROR, GOOD, WARNING, paint};

/// How a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionHealth {
    /// Its agent opens all of it; what is odd about it, the agent copes with.
    Ok,
    /// Its agent opens it, but leaves something out.
    HistoryMissing,
    /// Its agent cannot open it, or the provider refuses what the agent sends.
    NeedsRepair,
    /// We cannot say.
    Unreadable,
}

impl SessionHealth {
    pub(crate) const ALL: [SessionHealth; 4] = [
        SessionHealth::Ok,
        SessionHealth::HistoryMissing,
        SessionHealth::NeedsRepair,
        SessionHealth::Unreadable,
    ];

    /// From what the findings mean to the agent.
    pub(crate) fn of(effects: impl IntoIterator<Item = FindingEffect>) -> SessionHealth {
        match effects.into_iter().max() {
            None | Some(FindingEffect::Tolerated) => SessionHealth::Ok,
            Some(FindingEffect::HidesHistory) => SessionHealth::HistoryMissing,
            Some(FindingEffect::Blocks) => SessionHealth::NeedsRepair,
        }
    }

    /// The word for it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            SessionHealth::Ok => "ok",
            SessionHealth::HistoryMissing => "history missing",
            SessionHealth::NeedsRepair => "needs repair",
            SessionHealth::Unreadable => "unreadable",
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            SessionHealth::Ok => "✓",
            SessionHealth::HistoryMissing => "!",
            SessionHealth::NeedsRepair => "✗",
            SessionHealth::Unreadable => "?",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            SessionHealth::Ok => GOOD,
            SessionHealth::HistoryMissing => WARNING,
            SessionHealth::NeedsRepair | SessionHealth::Unreadable => ERROR,
        }
    }

    /// Sign and word, in colour.
    pub(crate) fn styled(self) -> String {
        paint(self.style(), format_args!("{} {}", self.sign(), self.label()))
    }
}
