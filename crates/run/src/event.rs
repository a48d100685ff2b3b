//! What happens in a run, in the words of no agent in particular.
//!
//! `wire` spells events as JSON and reads them; `follow` makes them out of the streams of agents.

use crate::{Id, Json, Outcome, Reason, Status};

/// Something that happened in a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// The run it belongs to.
    pub run: Id,
    /// The run's number in its session: a later run has a higher one. Whoever does not know it
    /// leaves it out.
    pub epoch: Option<u64>,
    /// Its place in the run, from 1 on (the start has 1). With it the order in which events
    /// arrive means nothing; without it the order of arrival is the truth.
    pub seq: Option<u64>,
    /// When it happened, in milliseconds since 1970, if its source says so.
    pub at: Option<u64>,
    /// A word in it that its reader did not know, for the operator.
    pub odd: Option<Id>,
    /// What happened.
    pub body: Body,
}

impl Event {
    /// An event as a source tells it: no place yet, no time.
    pub fn new(run: &Id, body: Body) -> Event {
        Event { run: run.clone(), epoch: None, seq: None, at: None, odd: None, body }
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// The run began: `run-started`.
    Started(Started),
    /// Which tools the agent has: `tools-available`.
    ToolsAvailable(ToolsAvailable),
    /// A new message of the model, which has its own calls: `turn-started`.
    Turn(Turn),
    /// The model said something: `text`.
    Text(Text),
    /// The model thought something: `thought`.
    Thought(Text),
    /// The model calls a tool: `tool-call`. Comes once or more, with what is known by then.
    Call(Call),
    /// A piece of a call's arguments: `tool-arguments`.
    Arguments {
        /// The call.
        call: CallRef,
        /// JSON text that continues what came before.
        delta: String,
    },
    /// What a tool shows while it works: `tool-progress`.
    Progress {
        /// The call.
        call: CallRef,
        /// What it shows.
        content: Json,
    },
    /// What a tool answered: `tool-result`.
    Result(ToolResult),
    /// Somebody called off this one call: `tool-cancelled`.
    Cancelled {
        /// The call.
        call: CallRef,
    },
    /// A person has to allow a call or answer a question: `approval-asked`, `question-asked`.
    Asked(Ask),
    /// Somebody did: `approval-answered`, `question-answered`.
    Replied(Reply),
    /// The list of tasks, whole: `tasks`.
    Tasks(Vec<Task>),
    /// What it cost so far: `usage`.
    Usage(Usage),
    /// Something worth a card beside the conversation: `activity`.
    Activity(Activity),
    /// Something went wrong: `error`. A fatal one ends the run.
    Problem(Problem),
    /// Somebody wants it to stop: `stop`.
    Stop(Stop),
    /// Nothing came for too long: `timed-out`. With a call, only that call.
    TimedOut {
        /// The call, if it is one.
        call: Option<CallRef>,
    },
    /// The run came to its end: `run-ended`.
    Ended(Ended),
    /// A kind of event that we do not know. It keeps its place and changes nothing.
    Unknown {
        /// What it calls itself.
        kind: String,
        /// All of it.
        raw: Json,
    },
}

/// The start of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Started {
    /// The session it belongs to, if the source says so.
    pub session: Option<Id>,
    /// The run that started it.
    pub parent: Option<Id>,
    /// The agent, such as `claude-code`.
    pub agent: Option<Id>,
    /// The model.
    pub model: Option<Id>,
}

/// The tools of an agent. A list with a lower version than the last one is late.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ToolsAvailable {
    /// Which list it is.
    pub version: Option<u64>,
    /// Whether more are to come.
    pub ready: bool,
    /// Their names.
    pub tools: Vec<Id>,
}

/// A new message of the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Turn {
    /// Its number in the run, from 1 on.
    pub turn: Option<u32>,
    /// The message's id.
    pub message: Option<Id>,
}

/// Something the model said or thought: a piece, or all of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Text {
    /// The message it belongs to.
    pub message: Option<Id>,
    /// The call whose sub-agent says it. Such text is never the run's own.
    pub parent: Option<Id>,
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
    pub id: Option<Id>,
    /// The turn.
    pub turn: Option<u32>,
}

/// What is known about a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Call {
    /// Which one.
    pub call: CallRef,
    /// The tool.
    pub name: Option<Id>,
    /// The call whose sub-agent makes it.
    pub parent: Option<Id>,
    /// The arguments, all of them. A call without them is still being written.
    pub input: Option<Json>,
    /// What a person may read about it.
    pub title: Option<String>,
    /// Its status, if the source has one: only `Pending`, `AwaitingApproval` and `Running` say
    /// something here; a final one comes with its result.
    pub status: Option<Status>,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum How {
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

impl How {
    /// The status of a call that ended so.
    pub fn status(self) -> Status {
        match self {
            How::Ok => Status::Succeeded,
            How::Error | How::TimedOut => Status::Failed,
            How::Denied => Status::Denied,
            How::Cancelled | How::Skipped => Status::Cancelled,
            How::Interrupted => Status::Interrupted,
            How::HandedOver => Status::HandedOver,
        }
    }

    /// Why, where the status does not say it.
    pub fn reason(self) -> Option<Reason> {
        match self {
            How::TimedOut => Some(Reason::TimedOut),
            How::Skipped => Some(Reason::Skipped),
            How::Ok
            | How::Error
            | How::Denied
            | How::Cancelled
            | How::Interrupted
            | How::HandedOver => None,
        }
    }
}

/// What a tool answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ToolResult {
    /// Which call.
    pub call: CallRef,
    /// The tool, if the source says so.
    pub name: Option<Id>,
    /// How it ended.
    pub how: How,
    /// Why, if the machine that closed it said so.
    pub reason: Option<Reason>,
    /// What it said.
    pub content: Option<Json>,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AskKind {
    /// May this call run?
    Approval,
    /// A question with an answer.
    Question,
}

/// Something that a person has to decide.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ask {
    /// The call.
    pub call: CallRef,
    /// The request's own id; a call asks once under one id.
    pub id: Option<Id>,
    /// What is asked.
    pub kind: AskKind,
    /// What a person reads.
    pub prompt: Option<String>,
    /// The choices, in the agent's own form.
    pub choices: Option<Json>,
}

/// What somebody decided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Go on.
    Allowed,
    /// No.
    Denied,
    /// The question has an answer.
    Answered,
    /// Nobody will answer any more.
    Cancelled,
}

impl Verdict {
    /// The word that logs, stores and user interfaces see.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Allowed => "allowed",
            Verdict::Denied => "denied",
            Verdict::Answered => "answered",
            Verdict::Cancelled => "cancelled",
        }
    }
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reply {
    /// The call.
    pub call: CallRef,
    /// The request's own id.
    pub id: Option<Id>,
    /// What was decided.
    pub verdict: Verdict,
    /// What the person said. It goes to whoever asked, and into no error text.
    pub answer: Option<Json>,
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
pub struct Task {
    /// Its id, if the agent gives one.
    pub id: Option<Id>,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What to show while it is under way.
    pub active: Option<String>,
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Usage {
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
pub struct Activity {
    /// What it is, such as `repair` or `compaction`.
    pub kind: Id,
    /// The card's id; the same id again replaces it.
    pub id: Option<Id>,
    /// What it says.
    pub content: Json,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Problem {
    /// In words.
    pub message: String,
    /// In a word.
    pub code: Option<Id>,
    /// Whether the run ends by it.
    pub fatal: bool,
}

/// The wish to stop.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stop {
    /// How long tools at work may take to finish, in milliseconds. The outcome is decided
    /// already, whatever comes in the meantime.
    pub grace: u64,
}

/// The end of a run, as it was told or as it was decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ended {
    /// How; nobody said means: by what was said before.
    pub outcome: Option<Outcome>,
    /// The text of the result.
    pub text: Option<String>,
    /// What went wrong.
    pub problem: Option<Problem>,
    /// What it cost.
    pub usage: Option<Usage>,
}
