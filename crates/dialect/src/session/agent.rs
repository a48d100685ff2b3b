//! The agents whose files we read.

use foxwedge_core::{CheckOptions, Format, Profile, RuleSet, Severity, Span};

use super::{claude_code, cline, codex, gemini_cli, neovate};

/// An agent, or rather the format of its session files.
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
    /// Every agent.
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

    /// The agent of that name.
    pub fn parse(name: &str) -> Option<SessionAgent> {
        SessionAgent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The wire format in which its history is told.
    pub fn wire(self) -> Format {
        match self {
            SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Cline => {
                Format::Anthropic
            }
            SessionAgent::Codex => Format::OpenaiResponses,
            SessionAgent::GeminiCli => Format::Gemini,
        }
    }

    /// Whose rules its history has to obey, unless somebody says otherwise.
    pub fn profile(self) -> Profile {
        Profile::for_format(self.wire())
    }

    /// Tells its records from objects inside them.
    pub(super) fn is_record(self) -> fn(&str, Span) -> bool {
        match self {
            SessionAgent::ClaudeCode => claude_code::is_record,
            SessionAgent::Neovate => neovate::is_record,
            SessionAgent::Codex => codex::is_record,
            SessionAgent::GeminiCli => gemini_cli::is_record,
            SessionAgent::Cline => cline::is_record,
        }
    }

    /// What a line that it cannot read means to it.
    pub(super) fn torn_line_severity(self) -> Severity {
        match self {
            // It shows an empty conversation, or refuses the file.
            SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Cline => {
                Severity::Error
            }
            // It leaves the line out.
            SessionAgent::Codex | SessionAgent::GeminiCli => Severity::Warning,
        }
    }

    /// Leaves out rules about spelling where the agent spells the history anew before it sends it.
    pub fn restrict_rules(self, question: &mut CheckOptions) {
        const PAIRS: [u16; 12] = [101, 102, 103, 104, 701, 702, 703, 704, 801, 802, 803, 804];
        match self {
            SessionAgent::ClaudeCode | SessionAgent::Codex | SessionAgent::Cline => {}
            SessionAgent::GeminiCli | SessionAgent::Neovate => {
                let mut rules = RuleSet::default();
                for code in PAIRS.into_iter().filter(|&code| question.rules.has(code)) {
                    rules.add(code);
                }
                question.rules = rules;
            }
        }
    }
}
