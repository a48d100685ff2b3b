//! The agents whose session files are supported.

use foxwedge_core::{CheckOptions, Format, Profile, RuleSet, Severity};
use foxwedge_formats::AiSdkList;

use super::read_only_agent::ReadOnlyAgent;

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
    /// pi.
    Pi,
    /// Copilot CLI.
    CopilotCli,
    /// Kimi Code.
    KimiCode,
    /// Qwen Code.
    QwenCode,
    /// opencode 1.x and Kilo CLI: rows of a database.
    Opencode,
    /// Crush: rows of a database.
    Crush,
    /// goose: rows of a database.
    Goose,
    /// Applications of the AI SDK: a list of `UIMessage`.
    AiSdkUi,
    /// Applications of the AI SDK: a list of `ModelMessage`.
    AiSdkModel,
    /// An agent whose sessions are read and never written.
    ReadOnly(ReadOnlyAgent),
}

impl SessionAgent {
    /// All agents that keep session files on a machine.
    pub const ALL: [SessionAgent; 9] = [
        SessionAgent::ClaudeCode,
        SessionAgent::Codex,
        SessionAgent::GeminiCli,
        SessionAgent::Neovate,
        SessionAgent::Cline,
        SessionAgent::Pi,
        SessionAgent::CopilotCli,
        SessionAgent::KimiCode,
        SessionAgent::QwenCode,
    ];

    /// Agents that keep sessions in a database.
    pub const DATABASES: [SessionAgent; 3] =
        [SessionAgent::Opencode, SessionAgent::Crush, SessionAgent::Goose];

    /// All agents that keep sessions on a machine, in files or in databases.
    pub fn on_machine() -> impl Iterator<Item = SessionAgent> {
        let read_only = ReadOnlyAgent::ALL.into_iter().map(SessionAgent::ReadOnly);
        SessionAgent::ALL.into_iter().chain(SessionAgent::DATABASES).chain(read_only)
    }

    /// Why its sessions are never written; `None` if they are.
    pub fn read_only_reason(self) -> Option<&'static str> {
        match self {
            SessionAgent::ReadOnly(agent) => Some(agent.reason()),
            _ => None,
        }
    }

    /// Message lists of the AI SDK. Applications keep them where they like, so nothing searches for
    /// them.
    pub const LISTS: [SessionAgent; 2] = [SessionAgent::AiSdkUi, SessionAgent::AiSdkModel];

    /// Whether its files are message lists of the AI SDK.
    pub fn is_ai_sdk(self) -> bool {
        SessionAgent::LISTS.contains(&self)
    }

    /// The kind of message list that its files are.
    pub fn message_list(self) -> Option<AiSdkList> {
        match self {
            SessionAgent::AiSdkUi => Some(AiSdkList::Ui),
            SessionAgent::AiSdkModel => Some(AiSdkList::Model),
            _ => None,
        }
    }

    /// Whether compactions can be written into its files.
    pub fn holds_compactions(self) -> bool {
        match self {
            SessionAgent::ClaudeCode
            | SessionAgent::Codex
            | SessionAgent::GeminiCli
            | SessionAgent::Neovate
            | SessionAgent::Cline => true,
            SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => false,
        }
    }

    /// Whether its sessions are rows of a database.
    pub fn is_in_database(self) -> bool {
        SessionAgent::DATABASES.contains(&self)
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            SessionAgent::ClaudeCode => "claude-code",
            SessionAgent::Codex => "codex",
            SessionAgent::GeminiCli => "gemini-cli",
            SessionAgent::Neovate => "neovate",
            SessionAgent::Cline => "cline",
            SessionAgent::Pi => "pi",
            SessionAgent::CopilotCli => "copilot-cli",
            SessionAgent::KimiCode => "kimi-code",
            SessionAgent::QwenCode => "qwen-code",
            SessionAgent::Opencode => "opencode",
            SessionAgent::Crush => "crush",
            SessionAgent::Goose => "goose",
            SessionAgent::AiSdkUi => "ai-sdk-ui",
            SessionAgent::AiSdkModel => "ai-sdk-model",
            SessionAgent::ReadOnly(agent) => agent.name(),
        }
    }

    /// Looks an agent up by its [`name`](SessionAgent::name).
    pub fn parse(name: &str) -> Option<SessionAgent> {
        let mut agents = SessionAgent::on_machine().chain(SessionAgent::LISTS);
        agents.find(|agent| agent.name() == name)
    }

    /// The API format of the agent's history.
    pub fn wire(self) -> Format {
        match self {
            SessionAgent::ClaudeCode
            | SessionAgent::Neovate
            | SessionAgent::Cline
            | SessionAgent::Pi
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => Format::Anthropic,
            SessionAgent::Codex => Format::OpenaiResponses,
            SessionAgent::GeminiCli | SessionAgent::QwenCode => Format::Gemini,
            SessionAgent::CopilotCli | SessionAgent::KimiCode => Format::OpenaiChat,
        }
    }

    /// The default profile for checking the agent's history.
    pub fn profile(self) -> Profile {
        Profile::for_format(self.wire())
    }

    /// The kind of the record that a file must start with, where records name their kinds.
    pub(super) fn first_kind(self) -> Option<&'static str> {
        match self {
            SessionAgent::Codex => Some("session_meta"),
            SessionAgent::Pi => Some("session"),
            SessionAgent::CopilotCli => Some("session.start"),
            SessionAgent::KimiCode => Some("metadata"),
            SessionAgent::ClaudeCode
            | SessionAgent::GeminiCli
            | SessionAgent::Neovate
            | SessionAgent::QwenCode
            | SessionAgent::Cline
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => None,
        }
    }

    /// Severity of a line that is not valid JSON.
    pub(super) fn torn_line_severity(self) -> Severity {
        match self {
            // The agent shows an empty conversation or rejects the file.
            SessionAgent::ClaudeCode
            | SessionAgent::Neovate
            | SessionAgent::Cline
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => Severity::Error,
            // The agent skips the line.
            SessionAgent::Codex
            | SessionAgent::GeminiCli
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode => Severity::Warning,
        }
    }

    /// Removes the rules about encoding for agents that encode the history again before they send
    /// it.
    pub fn restrict_rules(self, options: &mut CheckOptions) {
        const PAIRS: [u16; 13] = [101, 102, 103, 104, 701, 702, 703, 704, 801, 802, 803, 804, 805];
        // The SDK also refuses results in assistant messages.
        let others: &[u16] = match self {
            SessionAgent::ClaudeCode | SessionAgent::Codex | SessionAgent::Cline => return,
            SessionAgent::GeminiCli
            | SessionAgent::Neovate
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::Goose
            | SessionAgent::ReadOnly(_) => &[],
            SessionAgent::AiSdkUi | SessionAgent::AiSdkModel => &[304, 603],
            // Ids and arguments are sent as they are stored.
            SessionAgent::Opencode | SessionAgent::Crush => &[201, 204, 302],
        };
        let mut rules = RuleSet::default();
        let known = PAIRS.iter().chain(others).copied();
        for code in known.filter(|&code| options.rules.has(code)) {
            rules.add(code);
        }
        options.rules = rules;
    }
}
