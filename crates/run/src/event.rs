//! Run events, independent of any agent.
//!
//! `wire` encodes events as JSON and parses them. `follow` creates events from agent streams.

use crate::{Outcome, RawJson, SharedId, ToolStatus, ToolStatusReason};

/// One event of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RunEvent {
    /// The run it belongs to.
    pub run: SharedId,
    /// The number of the run in its session; a later run has a higher one. `None` if the source
    /// does not know it.
    pub epoch: Option<u64>,
    /// The sequence number in the run, from 1 (the start event has 1). Events with sequence numbers
    /// may arrive in any order. Without them the order of arrival counts.
    pub seq: Option<u64>,
    /// When it happened, in milliseconds since 1970, if the source provides a time.
    pub at: Option<u64>,
    /// A value in the event that the parser did not recognize, for the operator.
    pub unknown_word: Option<SharedId>,
    /// What happened.
    pub body: EventPayload,
}

impl RunEvent {
    /// Creates an event without sequence number and time, as sources emit it.
    pub fn new(run: &SharedId, body: EventPayload) -> RunEvent {
        RunEvent { run: run.clone(), epoch: None, seq: None, at: None, unknown_word: None, body }
    }
}

/// The content of an event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventPayload {
    /// The run started: `run-started`.
    Started(RunStart),
    /// The tools that the agent has: `tools-available`.
    ToolsAvailable(ToolsAvailable),
    /// A new assistant message, with its own calls, started: `turn-started`.
    TurnStarted(TurnStart),
    /// Text of the model: `text`.
    Text(TextUpdate),
    /// Reasoning of the model: `thought`.
    Thought(TextUpdate),
    /// The model calls a tool: `tool-call`. Sent once or more, with what is known at that point.
    ToolCall(ToolCallUpdate),
    /// A delta of the arguments of a call: `tool-arguments`.
    ToolArguments {
        /// The call.
        call: CallRef,
        /// JSON text that continues what came before.
        delta: String,
    },
    /// Output of a tool that is still running: `tool-progress`.
    ToolProgress {
        /// The call.
        call: CallRef,
        /// The output.
        content: RawJson,
    },
    /// The result of a tool call: `tool-result`.
    ToolResult(ToolResult),
    /// One call was cancelled: `tool-cancelled`.
    ToolCancelled {
        /// The call.
        call: CallRef,
    },
    /// A person must approve a call or answer a question: `approval-asked`, `question-asked`.
    ApprovalRequested(ApprovalRequest),
    /// A person replied: `approval-answered`, `question-answered`.
    ApprovalReplied(ApprovalReply),
    /// The complete task list: `tasks`.
    Tasks(Vec<TaskItem>),
    /// Token usage so far: `usage`.
    Usage(RunUsage),
    /// Something to show as a card beside the conversation: `activity`.
    Activity(ActivityCard),
    /// An error: `error`. A fatal error ends the run.
    Problem(RunProblem),
    /// A request to stop the run: `stop`.
    Stop(StopRequest),
    /// No event arrived for too long: `timed-out`. With a call, only that call timed out.
    TimedOut {
        /// The call; `None` if the run timed out.
        call: Option<CallRef>,
    },
    /// The run ended: `run-ended`.
    Ended(RunEnd),
    /// An event of an unknown type. It keeps its sequence number and changes nothing.
    Unknown {
        /// The `type` it has.
        kind: String,
        /// The whole event.
        raw: RawJson,
    },
}

/// The start of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunStart {
    /// The session it belongs to, if the source provides it.
    pub session: Option<SharedId>,
    /// The run that started it.
    pub parent: Option<SharedId>,
    /// The agent, such as `claude-code`.
    pub agent: Option<SharedId>,
    /// The model.
    pub model: Option<SharedId>,
}

/// The tools of an agent. A list with a lower version than the last one is outdated.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolsAvailable {
    /// The version of the list.
    pub version: Option<u64>,
    /// Whether the list is final. `false` while more tools may follow.
    pub ready: bool,
    /// The names of the tools.
    pub tools: Vec<SharedId>,
}

/// The start of an assistant message.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TurnStart {
    /// The number of the turn in the run, from 1.
    pub turn: Option<u32>,
    /// The id of the message.
    pub message: Option<SharedId>,
}

/// Text or reasoning of the model: a delta, or the full text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TextUpdate {
    /// The message it belongs to.
    pub message: Option<SharedId>,
    /// The call whose sub-agent wrote it. Such text is never the run's own.
    pub parent: Option<SharedId>,
    /// A delta that continues the text so far.
    pub delta: Option<String>,
    /// The full text, which completes it.
    pub full: Option<String>,
}

/// Identifies a call by its id, and by its turn where ids are reused. A call without an id is
/// identified by its position among such calls of its turn.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CallRef {
    /// The id, never empty.
    pub id: Option<SharedId>,
    /// The turn.
    pub turn: Option<u32>,
}

/// What is known about a call so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolCallUpdate {
    /// The call.
    pub call: CallRef,
    /// The name of the tool.
    pub name: Option<SharedId>,
    /// The call whose sub-agent makes it.
    pub parent: Option<SharedId>,
    /// The complete arguments. `None` while the model is still writing them.
    pub input: Option<RawJson>,
    /// A title to show to a person.
    pub title: Option<String>,
    /// The status, if the source has one. Only `Pending`, `AwaitingApproval` and `Running` have an
    /// effect here; a final status comes with the result.
    pub status: Option<ToolStatus>,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ToolOutcome {
    /// It succeeded.
    Ok,
    /// It returned an error.
    Error,
    /// It was denied.
    Denied,
    /// It took too long.
    TimedOut,
    /// It never ran.
    Cancelled,
    /// It may have run.
    Interrupted,
    /// It was skipped, because an earlier call ended the turn.
    Skipped,
    /// The question was handed over to a person.
    HandedOver,
}

impl ToolOutcome {
    /// Returns the status of a call with this outcome.
    pub fn status(self) -> ToolStatus {
        match self {
            ToolOutcome::Ok => ToolStatus::Succeeded,
            ToolOutcome::Error | ToolOutcome::TimedOut => ToolStatus::Failed,
            ToolOutcome::Denied => ToolStatus::Denied,
            ToolOutcome::Cancelled | ToolOutcome::Skipped => ToolStatus::Cancelled,
            ToolOutcome::Interrupted => ToolStatus::Interrupted,
            ToolOutcome::HandedOver => ToolStatus::HandedOver,
        }
    }

    /// Returns the reason, where the status alone does not give it.
    pub fn reason(self) -> Option<ToolStatusReason> {
        match self {
            ToolOutcome::TimedOut => Some(ToolStatusReason::TimedOut),
            ToolOutcome::Skipped => Some(ToolStatusReason::Skipped),
            ToolOutcome::Ok
            | ToolOutcome::Error
            | ToolOutcome::Denied
            | ToolOutcome::Cancelled
            | ToolOutcome::Interrupted
            | ToolOutcome::HandedOver => None,
        }
    }
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ToolResult {
    /// The call.
    pub call: CallRef,
    /// The name of the tool, if the source provides it.
    pub name: Option<SharedId>,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// The reason, if the machine that closed the call gave one.
    pub reason: Option<ToolStatusReason>,
    /// The content of the result.
    pub content: Option<RawJson>,
}

/// What a person must decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalKind {
    /// Whether this call may run.
    Approval,
    /// The answer to a question.
    Question,
}

/// A request for a decision by a person.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalRequest {
    /// The call.
    pub call: CallRef,
    /// The id of the request; unique within the call.
    pub id: Option<SharedId>,
    /// Approval or question.
    pub kind: ApprovalKind,
    /// The text to show to the person.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<RawJson>,
}

/// The decision of a person.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalVerdict {
    /// The call may run.
    Allowed,
    /// The call must not run.
    Denied,
    /// The question was answered.
    Answered,
    /// The request was cancelled; no reply will come.
    Cancelled,
}

impl ApprovalVerdict {
    /// The name in logs, stores and user interfaces.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalVerdict::Allowed => "allowed",
            ApprovalVerdict::Denied => "denied",
            ApprovalVerdict::Answered => "answered",
            ApprovalVerdict::Cancelled => "cancelled",
        }
    }
}

/// The reply to a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalReply {
    /// The call.
    pub call: CallRef,
    /// The id of the request.
    pub id: Option<SharedId>,
    /// The decision.
    pub verdict: ApprovalVerdict,
    /// The person's answer. It is passed to the requesting tool only, never into an error text.
    pub answer: Option<RawJson>,
}

/// The status of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TaskStatus {
    /// A status we do not know.
    Unknown,
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Completed.
    Completed,
    /// In progress when the run ended.
    Paused,
}

impl TaskStatus {
    /// The name in logs, stores and user interfaces.
    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Unknown => "unknown",
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Paused => "paused",
        }
    }
}

/// One item of a task list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaskItem {
    /// Its id, if the agent provides one.
    pub id: Option<SharedId>,
    /// What to do.
    pub content: String,
    /// Its status.
    pub status: TaskStatus,
    /// The text to show while it is in progress.
    pub active: Option<String>,
}

/// Token counts, as the provider reports them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunUsage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens that came from a cache.
    pub cached: u64,
    /// Output tokens spent on reasoning.
    pub reasoning: u64,
}

/// A repair, a compaction, or anything else to show as a card.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ActivityCard {
    /// The kind of card, such as `repair` or `compaction`.
    pub kind: SharedId,
    /// The id of the card. A card with the same id replaces it.
    pub id: Option<SharedId>,
    /// The content of the card.
    pub content: RawJson,
}

/// An error in a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunProblem {
    /// The error message.
    pub message: String,
    /// The error code.
    pub code: Option<SharedId>,
    /// Whether the error ends the run.
    pub fatal: bool,
}

/// The code of a reply that the token limit cut off.
const CUT_REPLY: &str = "length";

impl RunProblem {
    /// A reply that the token limit cut off. The run does not fail.
    pub fn cut_reply() -> RunProblem {
        RunProblem {
            message: "the model was not allowed to say more: its reply is cut off".to_owned(),
            code: Some(CUT_REPLY.into()),
            fatal: false,
        }
    }

    /// Whether this is [`RunProblem::cut_reply`].
    pub fn is_cut_reply(&self) -> bool {
        !self.fatal && self.code.as_deref() == Some(CUT_REPLY)
    }
}

/// A request to stop a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StopRequest {
    /// How long running tools may take to finish, in milliseconds. The outcome is already decided
    /// and does not change in the meantime.
    pub grace: u64,
}

/// The end of a run, as reported or as decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunEnd {
    /// The outcome. `None` if the source gives none; it then follows from earlier events.
    pub outcome: Option<Outcome>,
    /// The final text.
    pub text: Option<String>,
    /// The error, if there was one.
    pub problem: Option<RunProblem>,
    /// Token usage.
    pub usage: Option<RunUsage>,
}
