//! The agents whose session files are supported.

use foxwedge_core::{CheckOptions, Format, Profile, RuleSet, Severity};

/// An agent, identified by the format of its session files. Forks share a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum SessionAgent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Neovate Code.
    Neovate,
    /// Cline, Roo Code and Kilo Code.
    Cline,
}

impl SessionAgent {
    /// All supported agents.
    pub const ALL: [SessionAgent; 5] = [
        SessionAgent::ClaudeCode,
        SessionAgent::Codex,
        SessionAgent::GeminiCli,
        SessionAgent::Neovate,
        SessionAgent::Cline,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            SessionAgent::ClaudeCode => "claude-code",
            SessionAgent::Codex => "codex",
            SessionAgent::GeminiCli => "gemini-cli",
            SessionAgent::Neovate => "neovate",
            SessionAgent::Cline => "cline",
        }
    }

    /// Looks an agent up by its [`name`](SessionAgent::name).
    pub fn parse(name: &str) -> Option<SessionAgent> {
        SessionAgent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The API format of the agent's history.
    pub fn wire(self) -> Format {
        match self {
            SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Cline => {
                Format::Anthropic
            }
            SessionAgent::Codex => Format::OpenaiResponses,
            SessionAgent::GeminiCli => Format::Gemini,
        }
    }

    /// The default profile for checking the agent's history.
    pub fn profile(self) -> Profile {
        Profile::for_format(self.wire())
    }

    /// Severity of a line that is not valid JSON.
    pub(super) fn torn_line_severity(self) -> Severity {
        match self {
            // The agent shows an empty conversation or rejects the file.
            SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Cline => {
                Severity::Error
            }
            // The agent skips the line.
            SessionAgent::Codex | SessionAgent::GeminiCli => Severity::Warning,
        }
    }

    /// Removes the rules about encoding for agents that encode the history again before they send
    /// it.
    pub fn restrict_rules(self, options: &mut CheckOptions) {
        const PAIRS: [u16; 12] = [101, 102, 103, 104, 701, 702, 703, 704, 801, 802, 803, 804];
        match self {
            SessionAgent::ClaudeCode | SessionAgent::Codex | SessionAgent::Cline => {}
            SessionAgent::GeminiCli | SessionAgent::Neovate => {
                let mut rules = RuleSet::default();
                for code in PAIRS.into_iter().filter(|&code| options.rules.has(code)) {
                    rules.add(code);
                }
                options.rules = rules;
            }
        }
    }
}
