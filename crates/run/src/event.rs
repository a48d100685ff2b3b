//! What happens in a run, in the words of no agent in particular.
//!
//! `wire` spells events as JSON and reads them; `follow` makes them out of the streams of agents.

use crate::{Outcome, RawJson, SharedId, ToolStatus, ToolStatusReason};

/// Something that happened in a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RunEvent {
    /// The run it belongs to.
    pub run: SharedId,
    /// The run's number in its session: a later run has a higher one. Whoever does not know it
    /// leaves it out.
    pub epoch: Option<u64>,
    /// Its place in the run, from 1 on (the start has 1). With it the order in which events
    /// arrive means nothing; without it the order of arrival is the truth.
    pub seq: Option<u64>,
    /// When it happened, in milliseconds since 1970, if its source says so.
    pub at: Option<u64>,
    /// A word in it that its reader did not know, for the operator.
    pub unknown_word: Option<SharedId>,
    /// What happened.
    pub body: EventPayload,
}

impl RunEvent {
    /// An event as a source tells it: no place yet, no time.
    pub fn new(run: &SharedId, body: EventPayload) -> RunEvent {
        RunEvent { run: run.clone(), epoch: None, seq: None, at: None, unknown_word: None, body }
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventPayload {
    /// The run began: `run-started`.
    Started(RunStart),
    /// Which tools the agent has: `tools-available`.
    ToolsAvailable(ToolsAvailable),
    /// A new message of the model, which has its own calls: `turn-started`.
    TurnStarted(TurnStart),
    /// The model said something: `text`.
    Text(TextUpdate),
    /// The model thought something: `thought`.
    Thought(TextUpdate),
    /// The model calls a tool: `tool-call`. Comes once or more, with what is known by then.
    ToolCall(ToolCallUpdate),
    /// A piece of a call's arguments: `tool-arguments`.
    ToolArguments {
        /// The call.
        call: CallRef,
        /// JSON text that continues what came before.
        delta: String,
    },
    /// What a tool shows while it works: `tool-progress`.
    ToolProgress {
        /// The call.
        call: CallRef,
        /// What it shows.
        content: RawJson,
    },
    /// What a tool answered: `tool-result`.
    ToolResult(ToolResult),
    /// Somebody called off this one call: `tool-cancelled`.
    ToolCancelled {
        /// The call.
        call: CallRef,
    },
    /// A person has to allow a call or answer a question: `approval-asked`, `question-asked`.
    ApprovalRequested(ApprovalRequest),
    /// Somebody did: `approval-answered`, `question-answered`.
    ApprovalReplied(ApprovalReply),
    /// The list of tasks, whole: `tasks`.
    Tasks(Vec<TaskItem>),
    /// What it cost so far: `usage`.
    Usage(RunUsage),
    /// Something worth a card beside the conversation: `activity`.
    Activity(ActivityCard),
    /// Something went wrong: `error`. A fatal one ends the run.
    Problem(RunProblem),
    /// Somebody wants it to stop: `stop`.
    Stop(StopRequest),
    /// Nothing came for too long: `timed-out`. With a call, only that call.
    TimedOut {
        /// The call, if it is one.
        call: Option<CallRef>,
    },
    /// The run came to its end: `run-ended`.
    Ended(RunEnd),
    /// A kind of event that we do not know. It keeps its place and changes nothing.
    Unknown {
        /// What it calls itself.
        kind: String,
        /// All of it.
        raw: RawJson,
    },
}

/// The start of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunStart {
    /// The session it belongs to, if the source says so.
    pub session: Option<SharedId>,
    /// The run that started it.
    pub parent: Option<SharedId>,
    /// The agent, such as `claude-code`.
    pub agent: Option<SharedId>,
    /// The model.
    pub model: Option<SharedId>,
}

/// The tools of an agent. A list with a lower version than the last one is late.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolsAvailable {
    /// Which list it is.
    pub version: Option<u64>,
    /// Whether more are to come.
    pub ready: bool,
    /// Their names.
    pub tools: Vec<SharedId>,
}

/// A new message of the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TurnStart {
    /// Its number in the run, from 1 on.
    pub turn: Option<u32>,
    /// The message's id.
    pub message: Option<SharedId>,
}

/// Something the model said or thought: a piece, or all of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TextUpdate {
    /// The message it belongs to.
    pub message: Option<SharedId>,
    /// The call whose sub-agent says it. Such text is never the run's own.
    pub parent: Option<SharedId>,
    /// A piece that continues what came before.
    pub delta: Option<String>,
    /// All of it, which makes it complete.
    pub full: Option<String>,
}

/// Which call: its id, and its turn where ids are used again. A call without id is told by
/// the order of such calls in its turn.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CallRef {
    /// The id, never empty.
    pub id: Option<SharedId>,
    /// The turn.
    pub turn: Option<u32>,
}

/// What is known about a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolCallUpdate {
    /// Which one.
    pub call: CallRef,
    /// The tool.
    pub name: Option<SharedId>,
    /// The call whose sub-agent makes it.
    pub parent: Option<SharedId>,
    /// The arguments, all of them. A call without them is still being written.
    pub input: Option<RawJson>,
    /// What a person may read about it.
    pub title: Option<String>,
    /// Its status, if the source has one: only `Pending`, `AwaitingApproval` and `Running` say
    /// something here; a final one comes with its result.
    pub status: Option<ToolStatus>,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ToolOutcome {
    /// Well.
    Ok,
    /// In an error.
    Error,
    /// Somebody said no.
    Denied,
    /// It took too long.
    TimedOut,
    /// It never ran.
    Cancelled,
    /// It may have run.
    Interrupted,
    /// It was left out, since an earlier call ended the turn.
    Skipped,
    /// A question went over to a person.
    HandedOver,
}

impl ToolOutcome {
    /// The status of a call that ended so.
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

    /// Why, where the status does not say it.
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

/// What a tool answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ToolResult {
    /// Which call.
    pub call: CallRef,
    /// The tool, if the source says so.
    pub name: Option<SharedId>,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// Why, if the machine that closed it said so.
    pub reason: Option<ToolStatusReason>,
    /// What it said.
    pub content: Option<RawJson>,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalKind {
    /// May this call run?
    Approval,
    /// A question with an answer.
    Question,
}

/// Something that a person has to decide.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalRequest {
    /// The call.
    pub call: CallRef,
    /// The request's own id; a call asks once under one id.
    pub id: Option<SharedId>,
    /// What is asked.
    pub kind: ApprovalKind,
    /// What a person reads.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<RawJson>,
}

/// What somebody decided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApprovalVerdict {
    /// Go on.
    Allowed,
    /// No.
    Denied,
    /// The question has an answer.
    Answered,
    /// Nobody will answer any more.
    Cancelled,
}

impl ApprovalVerdict {
    /// The word that logs, stores and user interfaces see.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalVerdict::Allowed => "allowed",
            ApprovalVerdict::Denied => "denied",
            ApprovalVerdict::Answered => "answered",
            ApprovalVerdict::Cancelled => "cancelled",
        }
    }
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApprovalReply {
    /// The call.
    pub call: CallRef,
    /// The request's own id.
    pub id: Option<SharedId>,
    /// What was decided.
    pub verdict: ApprovalVerdict,
    /// What the person said. It goes to whoever asked, and into no error text.
    pub answer: Option<RawJson>,
}

/// How far a task is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TaskStatus {
    /// A word we do not know.
    Unknown,
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Under way when the run ended.
    Paused,
}

impl TaskStatus {
    /// The word that logs, stores and user interfaces see.
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

/// One line of a task list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaskItem {
    /// Its id, if the agent gives one.
    pub id: Option<SharedId>,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What to show while it is under way.
    pub active: Option<String>,
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunUsage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of those read, from a cache.
    pub cached: u64,
    /// Of those written, thought.
    pub reasoning: u64,
}

/// A repair, a compaction, or anything else worth a card.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ActivityCard {
    /// What it is, such as `repair` or `compaction`.
    pub kind: SharedId,
    /// The card's id; the same id again replaces it.
    pub id: Option<SharedId>,
    /// What it says.
    pub content: RawJson,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunProblem {
    /// In words.
    pub message: String,
    /// In a word.
    pub code: Option<SharedId>,
    /// Whether the run ends by it.
    pub fatal: bool,
}

/// The wish to stop.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StopRequest {
    /// How long tools at work may take to finish, in milliseconds. The outcome is decided
    /// already, whatever comes in the meantime.
    pub grace: u64,
}

/// The end of a run, as it was told or as it was decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunEnd {
    /// How; nobody said means: by what was said before.
    pub outcome: Option<Outcome>,
    /// The text of the result.
    pub text: Option<String>,
    /// What went wrong.
    pub problem: Option<RunProblem>,
    /// What it cost.
    pub usage: Option<RunUsage>,
}
