//! Live agents: processes that call the client's tools and get the tool results in later requests.
//!
//! This is the I/O of the crate: it starts processes, transports lines, applies timeouts and counts.
//! It makes no decisions: [`AgentProtocol`](crate::AgentProtocol) reads the lines, and
//! [`AgentBridge`](crate::AgentBridge) ends replies and matches tool results.

mod agent_config;
mod agent_error;
mod presence;
mod reply_chunk;
mod cleanup;
mod process;
mod handle;
mod live_agent;
mod pool;

pub use agent_config::{AgentConfig, AgentKind, AgentVariable};
pub use agent_error::AgentError;
pub use handle::{AgentHandle, AgentQuestion, AgentRequest, NoteRecorder};
pub use pool::{AgentPool, AgentSlot, AgentSlotOwner, AgentStartRequest};
pub use presence::{AgentCounts, AgentPresence};
pub use reply_chunk::{BodyChunk, PING};
