//! Serves a running agent as a model: converts client requests into commands to the agent, and
//! agent events into replies to the client, call by call.
//!
//! [`AgentBridge`] is the state machine between one client conversation and one agent: inputs in,
//! outputs out, without clock, process or pipe. An [`AgentProtocol`] converts the lines of one kind
//! of agent to [`AgentEvent`]s and [`AgentCommand`]s to lines. [`AgentPool`] starts processes and
//! carries lines; it is the only part of the crate that does I/O.
//!
//! ```
//! use foxwedge_agents::{AgentBridge, AgentCommand, AgentEvent, BridgeInput, BridgeOutput, RequestTail};
//! use foxwedge_core::Format;
//!
//! let request = r#"{"messages": [{"role": "user", "content": "Hello."}]}"#;
//! let tail = RequestTail::read(request, Format::OpenaiChat, 0)?;
//! let mut bridge = AgentBridge::new(false);
//! let mut outputs = bridge.step(BridgeInput::AgentEvent(AgentEvent::Ready));
//! outputs.extend(bridge.step(BridgeInput::Request(tail)));
//! let is_prompt = |output: &BridgeOutput| matches!(output, BridgeOutput::Command(AgentCommand::Prompt(_)));
//! assert!(outputs.iter().any(is_prompt));
//! # Ok::<(), foxwedge_formats::ReadError>(())
//! ```

mod request_tail;
mod merge;
mod tool_names;
mod events;
mod launch;
mod bridge;
mod message_merger;
pub mod claude_code;
mod live;

pub use bridge::{
    AgentBridge, BridgeError, BridgeInput, BridgeNote, BridgeOutput, BridgePhase, RequestCheck,
};
pub use events::{
    AgentCommand, AgentEvent, PermissionDecision, PermissionKind, PermissionRequest, TurnFailure,
};
pub use launch::{AgentLaunch, AgentLauncher, LaunchSpec};
pub use live::{
    AgentConfig, AgentCounts, AgentError, AgentHandle, AgentKind, AgentPool, AgentPresence,
    AgentQuestion, AgentRequest, AgentSlot, AgentSlotOwner, AgentStartRequest, AgentVariable,
    BodyChunk, NoteRecorder, PING,
};
pub use merge::{MergedHistory, merge_history};
pub use request_tail::{ClientToolCall, ClientToolResult, RequestTail};
pub use tool_names::ToolNameTable;

/// The pipe protocol of one kind of agent. It keeps only the state that the protocol needs.
pub trait AgentProtocol: Send {
    /// The lines to send before anything else.
    fn begin(&mut self) -> Vec<String>;

    /// Reads one line of output, without its line end. Returns the events in it and the lines to
    /// send back at once. Never fails: an unreadable line is [`AgentEvent::Unreadable`].
    fn read_line(&mut self, line: &[u8]) -> (Vec<AgentEvent>, Vec<String>);

    /// Called after a period without output while a tool result is requested and a message is
    /// open. Some agents print nothing when their provider breaks off.
    fn on_silence(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Encodes a command as lines.
    fn encode_command(&mut self, command: AgentCommand) -> Vec<String>;
}
