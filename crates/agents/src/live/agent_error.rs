//! Errors of live agents.

use crate::BridgeError;

/// Why a live agent gives no reply.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AgentError {
    /// No agent can be started now; another one has to end first.
    #[error("the maximum number of agents is running")]
    Busy,
    /// No agent is started any more.
    #[error("the agents are being ended")]
    Draining,
    /// The process, or what it needs, could not be started.
    #[error("the agent cannot be started: {0}")]
    NotStarted(String),
    /// The agent refused the request, or failed.
    #[error("{}", .0.message)]
    Bridge(BridgeError),
}

impl From<BridgeError> for AgentError {
    fn from(error: BridgeError) -> AgentError {
        AgentError::Bridge(error)
    }
}
