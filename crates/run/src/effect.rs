//! What has to be done about an event, and what a person gets to see of it.

use crate::{
    ActivityCard, ApprovalRequest, ApprovalVerdict, RawJson, RunEnd, RunEvent, RunProblem,
    RunStart, RunSummary, RunUsage, SharedId, TaskItem, ToolStatus, ToolStatusReason,
    ToolsAvailable,
};

/// What has to be done. In this order, and by whoever called `step`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunEffect {
    /// The event belongs to its run's log, in this place. Store it, then show it.
    Emit(RunEvent),
    /// What a user interface shows changes.
    Show {
        /// The run.
        run: SharedId,
        /// What changes.
        change: UiChange,
    },
    /// Whoever waits for a person gets this.
    Resolve {
        /// The run.
        run: SharedId,
        /// The call that asked.
        tool: ToolRef,
        /// The request, as whoever asked named it.
        id: SharedId,
        /// What it gets.
        resolution: ApprovalResolution,
    },
    /// This call should stop working.
    CancelTool {
        /// The run.
        run: SharedId,
        /// The call.
        tool: ToolRef,
    },
    /// The run is over. Once for every run; the store decides who may say so.
    Announce {
        /// The run.
        run: SharedId,
        /// How it ended: outcome, text, problem and usage are all decided.
        ended: RunEnd,
        /// In numbers.
        summary: RunSummary,
    },
    /// Read on what the run's source still says, and throw it away, but not for ever.
    Drain {
        /// The run.
        run: SharedId,
        /// When to give up, on the machine's clock.
        until: u64,
    },
    /// Something an operator may want to know.
    Warn(RunWarning),
}

/// A call, by the id it has in this run and by its turn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ToolRef {
    /// Its id; `local-<run>-<n>` if its source gave none.
    pub call: SharedId,
    /// Its turn; 0 before the first.
    pub turn: u32,
}

/// What a person decided, or that nobody will.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApprovalResolution {
    /// Somebody decided.
    Replied(ApprovalVerdict, Option<RawJson>),
    /// The run or the call ended first.
    Cancelled,
}

/// What a user interface shows. Well formed whatever came in: a part is opened once, before
/// anything is said about it, and everything is closed before the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UiChange {
    /// The run began.
    RunStarted {
        /// Its number in the session.
        epoch: u64,
        /// When.
        at: Option<u64>,
        /// What is known about it.
        started: RunStart,
    },
    /// A step began: the model speaks anew. One is open at a time.
    StepStarted {
        /// Its number.
        turn: u32,
    },
    /// The step is over.
    StepEnded {
        /// Its number.
        turn: u32,
    },
    /// A text begins. One text or thought of the run itself is open at a time.
    TextOpened(UiPart),
    /// The text goes on.
    TextDelta(UiPart, String),
    /// The text is over.
    TextClosed(UiPart),
    /// A thought begins.
    ThoughtOpened(UiPart),
    /// The thought goes on.
    ThoughtDelta(UiPart, String),
    /// The thought is over.
    ThoughtClosed(UiPart),
    /// A call begins.
    ToolOpened {
        /// Which.
        tool: ToolRef,
        /// Its name; `unknown` if an answer came and never the call.
        name: SharedId,
        /// The call whose sub-agent makes it.
        parent: Option<SharedId>,
        /// What a person may read about it.
        title: Option<String>,
    },
    /// A piece of its arguments.
    ToolArguments {
        /// Which.
        tool: ToolRef,
        /// JSON text that continues what came before.
        delta: String,
    },
    /// Its arguments are complete. Once, and before it is settled, unless it was cut off.
    ToolReady {
        /// Which.
        tool: ToolRef,
        /// All of them.
        input: RawJson,
    },
    /// Its status changed, and is not final yet.
    ToolStatus {
        /// Which.
        tool: ToolRef,
        /// The new one.
        status: ToolStatus,
    },
    /// What it shows while it works.
    ToolProgress {
        /// Which.
        tool: ToolRef,
        /// What it shows.
        content: RawJson,
    },
    /// A person is asked.
    ApprovalRequested {
        /// Which.
        tool: ToolRef,
        /// What.
        request: ApprovalRequest,
    },
    /// The question is settled, by a person or by the end.
    ApprovalClosed {
        /// Which.
        tool: ToolRef,
        /// The request's id.
        id: SharedId,
        /// How.
        verdict: ApprovalVerdict,
    },
    /// It came to its end. Once for every call that was opened.
    ToolSettled {
        /// Which.
        tool: ToolRef,
        /// How.
        status: ToolStatus,
        /// Why, where the status does not say it.
        reason: Option<ToolStatusReason>,
        /// What it said, or the words that stand for it.
        content: RawJson,
    },
    /// It turned out to have ended otherwise: it was denied, or handed over to a person. Only
    /// behind its `ToolSettled`, and only from `Failed` or `Interrupted` to `Denied` to `HandedOver`.
    ToolCorrected {
        /// Which.
        tool: ToolRef,
        /// How it ended.
        status: ToolStatus,
        /// Why, where the status does not say it.
        reason: Option<ToolStatusReason>,
        /// What it said, or the words that stand for it.
        content: RawJson,
    },
    /// The tools that the agent has.
    ToolsAvailable(ToolsAvailable),
    /// The tasks, all of them.
    Tasks(Vec<TaskItem>),
    /// What it cost so far.
    Usage(RunUsage),
    /// A card.
    Activity(ActivityCard),
    /// Something went wrong, and the run goes on.
    Problem(RunProblem),
    /// The run is over. The last change of every run.
    RunEnded {
        /// How.
        ended: RunEnd,
        /// In numbers.
        summary: RunSummary,
        /// When.
        at: Option<u64>,
    },
}

/// A text or a thought: the id it is shown under, and whose it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UiPart {
    /// Unique in the run.
    pub id: SharedId,
    /// The call whose sub-agent says it.
    pub parent: Option<SharedId>,
}

/// Something an operator may want to know. The run it happened in, and what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunWarning {
    /// Events whose run never began were dropped; told once for a run.
    NeverStarted {
        /// The run.
        run: SharedId,
        /// How many.
        events: usize,
    },
    /// A run was refused.
    Refused {
        /// The run.
        run: SharedId,
        /// Why.
        refusal: RunRefusal,
    },
    /// Places in a run's log that nobody sent in time; the run goes on without them.
    Missing {
        /// The run.
        run: SharedId,
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A word for a status or an outcome, or a kind of event, that we do not know.
    UnknownWord {
        /// The run.
        run: SharedId,
        /// The word.
        word: String,
    },
    /// An answer whose call never came, at the end of the run.
    NeverCalled {
        /// The run.
        run: SharedId,
        /// The call.
        tool: ToolRef,
    },
    /// More waits than may: the oldest events are dropped.
    TooManyWaiting {
        /// The run.
        run: SharedId,
    },
}

/// Why a run does not begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunRefusal {
    /// A newer one has begun.
    OlderEpoch,
    /// Another run has its number.
    EpochTaken,
}
