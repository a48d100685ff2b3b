//! A live agent as a model: what a client asks for over HTTP becomes orders to an agent that is
//! running, and what the agent does becomes replies to the client, call by call.
//!
//! Pure. [`Talk`] is the machine between one client's conversation and one agent: inputs in,
//! outputs out, no clock, no process, no pipe. A *kind* of agent is a [`Protocol`]: lines of its
//! pipe to [`Heard`], [`Order`]s to lines. A new kind is one file. The engine starts processes,
//! carries lines, and decides nothing.

mod request_tail;
mod merge;
mod tool_names;
mod events;
mod launch;
mod bridge;
mod message_merger;
pub mod claude_code;

pub use bridge::{
    AgentBridge, BridgeError, BridgeInput, BridgeNote, BridgeOutput, BridgePhase, RequestCheck,
};
pub use events::{
    AgentCommand, AgentEvent, PermissionDecision, PermissionKind, PermissionRequest, TurnFailure,
};
pub use launch::{AgentLaunch, AgentLauncher, LaunchSpec};
pub use merge::{MergedHistory, merge_history};
pub use request_tail::{ClientToolCall, ClientToolResult, RequestTail};
pub use tool_names::ToolNameTable;

/// How one kind of agent is spoken to. It keeps what its own handshakes need and nothing else.
pub trait AgentProtocol: Send {
    /// The lines to send before anything else.
    fn begin(&mut self) -> Vec<String>;

    /// One line of the agent's output, without its line end: what it tells, and the lines to send
    /// back at once. Never fails: a line that cannot be read is [`Heard::Noise`].
    fn read_line(&mut self, line: &[u8]) -> (Vec<AgentEvent>, Vec<String>);

    /// Nothing was heard for a while, although a wish is open and a message has not ended: what that
    /// means. Some agents say nothing when their provider breaks off.
    fn on_silence(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// The lines that carry an order.
    fn encode_command(&mut self, order: AgentCommand) -> Vec<String>;
}
