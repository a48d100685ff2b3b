//! The agents whose files we read.

use foxwedge_core::{Profile, Question, RuleSet, Severity, Span, Wire};

use super::{claude_code, cline, codex, gemini_cli, neovate};

/// An agent, or rather the format of its session files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Agent {
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

impl Agent {
    /// Every agent.
    pub const ALL: [Agent; 5] =
        [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::Neovate, Agent::Cline];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::GeminiCli => "gemini-cli",
            Agent::Neovate => "neovate",
            Agent::Cline => "cline",
        }
    }

    /// The agent of that name.
    pub fn parse(name: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The wire format in which its history is told.
    pub fn wire(self) -> Wire {
        match self {
            Agent::ClaudeCode | Agent::Neovate | Agent::Cline => Wire::Anthropic,
            Agent::Codex => Wire::OpenaiResponses,
            Agent::GeminiCli => Wire::Gemini,
        }
    }

    /// Whose rules its history has to obey, unless somebody says otherwise.
    pub fn profile(self) -> Profile {
        Profile::of(self.wire())
    }

    /// Tells its records from objects inside them.
    pub(super) fn is_record(self) -> fn(&str, Span) -> bool {
        match self {
            Agent::ClaudeCode => claude_code::is_record,
            Agent::Neovate => neovate::is_record,
            Agent::Codex => codex::is_record,
            Agent::GeminiCli => gemini_cli::is_record,
            Agent::Cline => cline::is_record,
        }
    }

    /// What a line that it cannot read means to it.
    pub(super) fn when_torn(self) -> Severity {
        match self {
            // It shows an empty conversation, or refuses the file.
            Agent::ClaudeCode | Agent::Neovate | Agent::Cline => Severity::Error,
            // It leaves the line out.
            Agent::Codex | Agent::GeminiCli => Severity::Warning,
        }
    }

    /// Leaves out rules about spelling where the agent spells the history anew before it sends it.
    pub fn restrict(self, question: &mut Question) {
        const PAIRS: [u16; 12] = [101, 102, 103, 104, 701, 702, 703, 704, 801, 802, 803, 804];
        match self {
            Agent::ClaudeCode | Agent::Codex | Agent::Cline => {}
            Agent::GeminiCli | Agent::Neovate => {
                let mut rules = RuleSet::default();
                for code in PAIRS.into_iter().filter(|&code| question.rules.has(code)) {
                    rules.add(code);
                }
                question.rules = rules;
            }
        }
    }
}
