//! How an agent is started and kept.

use std::{fmt, path::PathBuf, time::Duration};

use zeroize::Zeroizing;

use crate::{AgentLauncher, claude_code::ClaudeCode};

/// How an agent is started and kept.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The agent, and its settings.
    pub kind: AgentKind,
    /// The command and its first arguments; never empty.
    pub command: Vec<String>,
    /// The working folder of every process; if `None`, a new private one for each.
    pub working_folder: Option<PathBuf>,
    /// Environment variables that the agent may see, beside the default ones.
    pub env: Vec<String>,
    /// Environment variables that are set for it.
    pub set_env: Vec<AgentVariable>,
    /// Maximum number of processes.
    pub max_processes: usize,
    /// How long a process may be idle.
    pub idle_timeout: Duration,
    /// How long a process may take to start.
    pub start_timeout: Duration,
    /// How long a process may be silent while a client waits.
    pub turn_timeout: Duration,
}

/// An environment variable that is set for an agent. Its value may be a secret: it is not shown,
/// and is wiped from memory on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentVariable {
    name: String,
    value: Zeroizing<String>,
}

impl AgentVariable {
    /// Sets `name` to `value`.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> AgentVariable {
        AgentVariable { name: name.into(), value: Zeroizing::new(value.into()) }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value, for the code that has to set it.
    pub fn reveal(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for AgentVariable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=[secret]", self.name)
    }
}

/// The agent, and its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentKind {
    /// Claude Code.
    ClaudeCode(ClaudeCode),
}

impl AgentKind {
    /// The launcher that starts the agent for a conversation.
    pub fn starter(&self) -> &dyn AgentLauncher {
        match self {
            AgentKind::ClaudeCode(claude) => claude,
        }
    }

    /// The folder with the agent's session files, in one folder per project.
    pub(super) fn session_folder(&self) -> Option<PathBuf> {
        match self {
            AgentKind::ClaudeCode(claude) => Some(claude.state.join("projects")),
        }
    }

    /// The model to request from the agent; `None` leaves the choice to it. A name that the agent
    /// cannot know is only the client's name of the route.
    pub fn model<'m>(&self, requested: &'m str) -> Option<&'m str> {
        const ALIASES: [&str; 5] = ["default", "sonnet", "opus", "haiku", "opusplan"];
        match self {
            AgentKind::ClaudeCode(_) => {
                let known = requested.starts_with("claude-") && requested != self.starter().name();
                (known || ALIASES.contains(&requested)).then_some(requested)
            }
        }
    }
}
