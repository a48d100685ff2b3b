//! What agents tell and what they are told, whatever their kind.

use serde_json::Value;

/// Something an agent tells.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentEvent {
    /// It is ready for a prompt.
    Ready,
    /// A piece of what its model says, as an event of an Anthropic stream (`message_start`,
    /// `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`,
    /// `message_stop`). Only the main conversation; calls of the client's tools have the client's
    /// names; a call of a tool of the agent's own is a block of type `agent_tool_use`.
    StreamEvent(Value),
    /// It waits for the answer to a call of a client's tool. The call may have been said already,
    /// or be still to come.
    ToolResultWanted {
        /// Names the wish in [`Order::Answer`].
        ticket: String,
        /// The id of the call, if the agent says it.
        call: Option<String>,
        /// The client's name of the tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// It no longer wants the answer to a wish or a question.
    Withdrawn {
        /// Of the wish.
        ticket: String,
    },
    /// A call has an answer in the agent's own history, whoever gave it.
    CallClosed {
        /// The id of the call.
        call: String,
        /// Whether the answer says that it failed.
        error: bool,
    },
    /// It asks a person.
    PermissionRequested(PermissionRequest),
    /// A turn of the agent has ended; it may go on by itself.
    TurnEnded {
        /// What went wrong, if something did.
        failure: Option<TurnFailure>,
        /// What it said last, for agents that do not say it in pieces.
        text: Option<String>,
        /// Whether it says that it goes on with something that waits.
        more: bool,
    },
    /// It has nothing to do and waits for a prompt. Agents that never say so are done when they
    /// say [`Heard::Ended`] without more.
    Idle,
    /// A line that nobody understands.
    Unreadable,
}

/// A question to a person.
#[derive(Clone, PartialEq, Debug)]
pub struct PermissionRequest {
    /// Names it in [`Order::Decide`].
    pub ticket: String,
    /// The id of the call it is about, if the agent says it.
    pub call: Option<String>,
    /// The agent's name of the tool.
    pub tool: String,
    /// What the tool would be given.
    pub input: Value,
    /// What is asked.
    pub kind: PermissionKind,
}

/// What a person is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermissionKind {
    /// Whether a tool may run.
    Permission,
    /// Questions with answers to choose from: `input` has them.
    Questions,
}

/// What a person says.
#[derive(Clone, PartialEq, Debug)]
pub enum PermissionDecision {
    /// It may, perhaps with another input.
    Allow {
        /// The input to use; the one that was asked about if not told.
        input: Option<Value>,
    },
    /// Answers to [`AskKind::Questions`]: from the text of each question to its answer.
    Answers(serde_json::Map<String, Value>),
    /// It may not.
    Deny {
        /// Why, in words for the model.
        message: String,
    },
}

/// What went wrong with an agent's turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnFailure {
    /// The status its provider answered with, if it says so.
    pub status: Option<u16>,
    /// In words, without secrets; may be long.
    pub message: String,
    /// Whether somebody stopped it: that is no failure.
    pub stopped: bool,
}

/// Something an agent is told.
#[derive(Clone, PartialEq, Debug)]
pub enum AgentCommand {
    /// A person says something: blocks as Anthropic spells the content of a user message.
    Prompt(Vec<Value>),
    /// The answer to a wish: blocks of text and images, as Anthropic spells them.
    ToolResult {
        /// Of the wish.
        ticket: String,
        /// What it says.
        content: Vec<Value>,
        /// Whether it says that the tool failed.
        error: bool,
    },
    /// What a person decided about [`Heard::Asks`].
    Decide {
        /// The question.
        request: PermissionRequest,
        /// The decision.
        decision: PermissionDecision,
    },
    /// Stop what you are doing; stay.
    Interrupt,
}
