//! Starts an agent for a conversation.

use std::path::PathBuf;

use serde_json::Value;

use crate::AgentProtocol;

/// What the conversation requires of a new agent.
#[derive(Clone, Copy, Debug)]
pub struct LaunchSpec<'a> {
    /// A valid request in Anthropic's format: `system`, `tools`, `messages`.
    pub body: &'a Value,
    /// The model to use; `None` leaves the choice to the agent.
    pub model: Option<&'a str>,
    /// A new UUID: the agent's session id.
    pub session: &'a str,
    /// The working folder, with symbolic links resolved.
    pub folder: &'a str,
    /// Milliseconds since 1970.
    pub now: u64,
}

/// Everything needed to start an agent.
pub struct AgentLaunch {
    /// The arguments of the command.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// Files to write before the start, readable by the owner only, and to remove afterwards.
    pub files: Vec<(PathBuf, String)>,
    /// The pipe protocol.
    pub protocol: Box<dyn AgentProtocol>,
    /// The first prompt; `None` if the agent continues by itself from its session file.
    pub prompt: Option<Vec<Value>>,
}

/// One kind of agent.
pub trait AgentLauncher: Send + Sync {
    /// Its name in configurations.
    fn name(&self) -> &'static str;

    /// Prepares the start of an agent for a conversation.
    fn launch(&self, spec: LaunchSpec<'_>) -> AgentLaunch;
}
