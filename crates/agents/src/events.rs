//! Events of agents and commands to them, for all kinds of agents.

use serde_json::Value;

/// An event of an agent.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentEvent {
    /// The agent is ready for a prompt.
    Ready,
    /// Model output, as an event of an Anthropic stream (`message_start`, `content_block_start`,
    /// `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`). Only of the
    /// main conversation. Calls of client tools have the client's names; a call of one of the
    /// agent's own tools is a block of type `agent_tool_use`.
    StreamEvent(Value),
    /// The agent requests the result of a client tool call. The call may have been streamed
    /// already or may follow.
    ToolResultWanted {
        /// Identifies the request in [`AgentCommand::ToolResult`].
        ticket: String,
        /// The id of the call, if the agent sends it.
        call: Option<String>,
        /// The client's name of the tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// The agent withdraws a tool result request or a question.
    Withdrawn {
        /// The ticket of the request.
        ticket: String,
    },
    /// A call has a result in the agent's own history, from any source.
    CallClosed {
        /// The id of the call.
        call: String,
        /// Whether the result is an error.
        error: bool,
    },
    /// The agent asks a person.
    PermissionRequested(PermissionRequest),
    /// A turn of the agent has ended; it may continue by itself.
    TurnEnded {
        /// The failure, if there was one.
        failure: Option<TurnFailure>,
        /// The final text, for agents that do not stream it.
        text: Option<String>,
        /// Whether the agent reports queued work.
        more: bool,
    },
    /// The agent is idle and waits for a prompt. Agents that never report this are idle after
    /// [`AgentEvent::TurnEnded`] without `more`.
    Idle,
    /// A line that could not be read.
    Unreadable,
}

/// A permission request or question to a person.
#[derive(Clone, PartialEq, Debug)]
pub struct PermissionRequest {
    /// Identifies it in [`AgentCommand::Decide`].
    pub ticket: String,
    /// The id of its call, if the agent sends it.
    pub call: Option<String>,
    /// The tool name that the agent uses.
    pub tool: String,
    /// The input of the tool.
    pub input: Value,
    /// Kind of the request.
    pub kind: PermissionKind,
}

/// Kind of a permission request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermissionKind {
    /// Whether a tool may run.
    Permission,
    /// Multiple-choice questions; `input` holds them.
    Questions,
}

/// The decision of a person.
#[derive(Clone, PartialEq, Debug)]
pub enum PermissionDecision {
    /// Allowed, optionally with a changed input.
    Allow {
        /// The input to use; `None` keeps the requested one.
        input: Option<Value>,
    },
    /// Answers to [`PermissionKind::Questions`]: maps the text of each question to its answer.
    Answers(serde_json::Map<String, Value>),
    /// Denied.
    Deny {
        /// The reason, for the model.
        message: String,
    },
}

/// Why a turn of an agent failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnFailure {
    /// The HTTP status of its provider, if known.
    pub status: Option<u16>,
    /// Readable message without secrets; may be long.
    pub message: String,
    /// Whether it was stopped on request, which is not a failure.
    pub stopped: bool,
}

/// A command to an agent.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentCommand {
    /// A user message: content blocks in Anthropic's format.
    Prompt(Vec<Value>),
    /// A requested tool result: text and image blocks in Anthropic's format.
    ToolResult {
        /// The ticket of the request.
        ticket: String,
        /// Content blocks.
        content: Vec<Value>,
        /// Whether the tool failed.
        error: bool,
    },
    /// The decision on [`AgentEvent::PermissionRequested`].
    Decide {
        /// The question.
        request: PermissionRequest,
        /// The decision.
        decision: PermissionDecision,
    },
    /// Stop the current work, but keep running.
    Interrupt,
}
