//! Agents whose sessions are read and never written, and why.

/// An agent whose sessions are read and never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum ReadOnlyAgent {
    /// Continue, in the terminal and in editors.
    Continue,
    /// Zed: rows of a database, compressed.
    Zed,
    /// Droid.
    Droid,
    /// kimi-cli, the older program of Moonshot AI.
    KimiCli,
}

impl ReadOnlyAgent {
    /// All of them.
    pub const ALL: [ReadOnlyAgent; 4] =
        [ReadOnlyAgent::Continue, ReadOnlyAgent::Zed, ReadOnlyAgent::Droid, ReadOnlyAgent::KimiCli];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            ReadOnlyAgent::Continue => "continue",
            ReadOnlyAgent::Zed => "zed",
            ReadOnlyAgent::Droid => "droid",
            ReadOnlyAgent::KimiCli => "kimi-cli",
        }
    }

    /// Why nothing is written for it.
    pub fn reason(self) -> &'static str {
        match self {
            ReadOnlyAgent::Continue => {
                "Continue writes each session again as a whole, from its memory"
            }
            ReadOnlyAgent::Zed => "Zed keeps each thread in one compressed value of its database",
            ReadOnlyAgent::Droid => "Droid keeps the history it sends apart from what it shows",
            ReadOnlyAgent::KimiCli => "kimi-cli is no longer developed; Kimi Code replaces it",
        }
    }
}

/// The field that names the agent in the first line of a session's text.
pub(crate) const AGENT_FIELD: &str = "read_only";
