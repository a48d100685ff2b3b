//! What others know of live agents: how many there are, and whether one runs.

use tokio::sync::watch;

/// Counts of agents, and of what they wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentCounts {
    /// Processes.
    pub processes: usize,
    /// Agents that wait for tool results.
    pub waiting: usize,
    /// Calls that wait for a result.
    pub calls: usize,
    /// Questions that wait for a user.
    pub questions: usize,
}

/// Whether an agent's process is running.
#[derive(Clone, Debug)]
pub struct AgentPresence(watch::Receiver<bool>);

impl AgentPresence {
    /// A presence that ends when the receiver gets `true`.
    pub fn new(exited: watch::Receiver<bool>) -> AgentPresence {
        AgentPresence(exited)
    }

    /// Whether it is running.
    pub fn is_alive(&self) -> bool {
        !*self.0.borrow()
    }
}
