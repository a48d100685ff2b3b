//! How an agent of some kind is started for a conversation.

use std::path::PathBuf;

use serde_json::Value;

use crate::AgentProtocol;

/// What a conversation wants of an agent that is to be started.
#[derive(Clone, Copy, Debug)]
pub struct LaunchSpec<'a> {
    /// A sound request in Anthropic's format: `system`, `tools`, `messages`.
    pub body: &'a Value,
    /// The model to ask for; the agent's own choice if not told.
    pub model: Option<&'a str>,
    /// A fresh UUID: the agent's name of the session.
    pub session: &'a str,
    /// The folder the agent works in, without links in its path.
    pub folder: &'a str,
    /// Milliseconds since 1970.
    pub now: u64,
}

/// Everything that is needed to start one.
pub struct AgentLaunch {
    /// The arguments of the command.
    pub arguments: Vec<String>,
    /// Variables that are set for it, beside those it may see.
    pub environment: Vec<(String, String)>,
    /// Files to write before it starts, private to the owner, and to remove when it is gone.
    pub files: Vec<(PathBuf, String)>,
    /// How it is spoken to.
    pub protocol: Box<dyn AgentProtocol>,
    /// What it is told first; `None` if it goes on by itself with what its files say.
    pub prompt: Option<Vec<Value>>,
}

/// One kind of agent.
pub trait AgentLauncher: Send + Sync {
    /// Its name in configurations.
    fn name(&self) -> &'static str;

    /// How one is started for a conversation.
    fn launch(&self, wish: LaunchSpec<'_>) -> AgentLaunch;
}
