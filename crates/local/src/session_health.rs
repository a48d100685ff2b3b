//! The health of a session.

use anstyle::Style;
use foxwedge_sessions::FindingEffect;
use serde::Serialize;

use crate::{
    language::localize,
    output::{ERROR, GOOD, WARNING, paint},
};

/// The health of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum SessionHealth {
    /// Its agent opens all of it and tolerates any findings.
    Ok,
    /// Its agent opens it, but omits a part.
    HistoryMissing,
    /// Its agent cannot open it, or the provider rejects what the agent sends.
    NeedsRepair,
    /// It cannot be read.
    Unreadable,
}

impl SessionHealth {
    /// Every state, from healthy to broken.
    pub const ALL: [SessionHealth; 4] = [
        SessionHealth::Ok,
        SessionHealth::HistoryMissing,
        SessionHealth::NeedsRepair,
        SessionHealth::Unreadable,
    ];

    /// The health that follows from the effects of the findings.
    pub fn of(effects: impl IntoIterator<Item = FindingEffect>) -> SessionHealth {
        match effects.into_iter().max() {
            None | Some(FindingEffect::Tolerated) => SessionHealth::Ok,
            Some(FindingEffect::HidesHistory) => SessionHealth::HistoryMissing,
            Some(FindingEffect::Blocks) => SessionHealth::NeedsRepair,
        }
    }

    /// The name in lists.
    pub fn label(self) -> &'static str {
        match self {
            SessionHealth::Ok => "ok",
            SessionHealth::HistoryMissing => "history missing",
            SessionHealth::NeedsRepair => "needs repair",
            SessionHealth::Unreadable => "unreadable",
        }
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SessionHealth::Ok => "ok",
            SessionHealth::HistoryMissing => "history-missing",
            SessionHealth::NeedsRepair => "needs-repair",
            SessionHealth::Unreadable => "unreadable",
        }
    }

    /// The sign in lists.
    pub fn sign(self) -> &'static str {
        match self {
            SessionHealth::Ok => "✓",
            SessionHealth::HistoryMissing => "!",
            SessionHealth::NeedsRepair => "✗",
            SessionHealth::Unreadable => "?",
        }
    }

    /// The style in lists.
    pub fn style(self) -> Style {
        match self {
            SessionHealth::Ok => GOOD,
            SessionHealth::HistoryMissing => WARNING,
            SessionHealth::NeedsRepair | SessionHealth::Unreadable => ERROR,
        }
    }

    /// Sign and label, in color.
    pub fn styled(self) -> String {
        paint(self.style(), format_args!("{} {}", self.sign(), localize(self.label())))
    }
}
