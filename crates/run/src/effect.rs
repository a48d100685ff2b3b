//! The effects of an event: what the caller must do, and what a user interface shows.

use crate::{
    ActivityCard, ApprovalRequest, ApprovalVerdict, RawJson, RunEnd, RunEvent, RunProblem,
    RunStart, RunSummary, RunUsage, SharedId, TaskItem, ToolStatus, ToolStatusReason,
    ToolsAvailable,
};

/// An effect for the caller of `step` to carry out, in the order returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunEffect {
    /// Appends the event to the log of its run, at its sequence number. Store it, then show it.
    Emit(RunEvent),
    /// A change in what a user interface shows.
    Show {
        /// The run.
        run: SharedId,
        /// The change.
        change: UiChange,
    },
    /// Resolves a request that a tool call waits for.
    Resolve {
        /// The run.
        run: SharedId,
        /// The call that made the request.
        tool: ToolRef,
        /// The id of the request, as the source named it.
        id: SharedId,
        /// The resolution to pass on.
        resolution: ApprovalResolution,
    },
    /// Asks the caller to stop this call.
    CancelTool {
        /// The run.
        run: SharedId,
        /// The call.
        tool: ToolRef,
    },
    /// The run ended. Emitted once per run; the store decides which process may announce it.
    Announce {
        /// The run.
        run: SharedId,
        /// The end: outcome, text, error and usage are final.
        ended: RunEnd,
        /// Counts of its calls by status.
        summary: RunSummary,
    },
    /// Keep reading from the run's source and discard what arrives, until a time limit.
    Drain {
        /// The run.
        run: SharedId,
        /// When to stop reading, on the caller's clock.
        until: u64,
    },
    /// A warning for the operator.
    Warn(RunWarning),
}

/// A call, identified by its id in this run and its turn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ToolRef {
    /// Its id; `local-<run>-<n>` if the source gave none.
    pub call: SharedId,
    /// Its turn; 0 before the first.
    pub turn: u32,
}

/// A person's decision, or the fact that none will come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApprovalResolution {
    /// A person decided.
    Replied(ApprovalVerdict, Option<RawJson>),
    /// The run or the call ended before a decision.
    Cancelled,
}

/// A change in what a user interface shows. Always well formed, whatever events arrive: a part is
/// opened once, before any change to it, and everything is closed before the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UiChange {
    /// The run started.
    RunStarted {
        /// Its number in the session.
        epoch: u64,
        /// When.
        at: Option<u64>,
        /// What is known about it.
        started: RunStart,
    },
    /// A step started: the model begins a new message. One step is open at a time.
    StepStarted {
        /// Its number.
        turn: u32,
    },
    /// The step ended.
    StepEnded {
        /// Its number.
        turn: u32,
    },
    /// A text starts. Only one text or thought of the run itself is open at a time.
    TextOpened(UiPart),
    /// A delta of the text.
    TextDelta(UiPart, String),
    /// The text is complete.
    TextClosed(UiPart),
    /// A thought starts.
    ThoughtOpened(UiPart),
    /// A delta of the thought.
    ThoughtDelta(UiPart, String),
    /// The thought is complete.
    ThoughtClosed(UiPart),
    /// A call starts.
    ToolOpened {
        /// The call.
        tool: ToolRef,
        /// The name of the tool; `unknown` if a tool result came but never the call.
        name: SharedId,
        /// The call whose sub-agent made it.
        parent: Option<SharedId>,
        /// A title to show to a person.
        title: Option<String>,
    },
    /// A delta of its arguments.
    ToolArguments {
        /// The call.
        tool: ToolRef,
        /// JSON text that continues what came before.
        delta: String,
    },
    /// Its arguments are complete. Sent once, before `ToolSettled`, unless the call was cut off.
    ToolReady {
        /// The call.
        tool: ToolRef,
        /// The complete arguments.
        input: RawJson,
    },
    /// Its status changed to one that is not final.
    ToolStatus {
        /// The call.
        tool: ToolRef,
        /// The new status.
        status: ToolStatus,
    },
    /// Output of a running call.
    ToolProgress {
        /// The call.
        tool: ToolRef,
        /// The output.
        content: RawJson,
    },
    /// A person must decide something.
    ApprovalRequested {
        /// The call.
        tool: ToolRef,
        /// The request.
        request: ApprovalRequest,
    },
    /// The request is closed, by a person or by the end of the run.
    ApprovalClosed {
        /// The call.
        tool: ToolRef,
        /// The id of the request.
        id: SharedId,
        /// The decision.
        verdict: ApprovalVerdict,
    },
    /// The call ended. Sent once for every call that was opened.
    ToolSettled {
        /// The call.
        tool: ToolRef,
        /// The final status.
        status: ToolStatus,
        /// The reason, where the status alone does not give it.
        reason: Option<ToolStatusReason>,
        /// The content of its result, or a placeholder.
        content: RawJson,
    },
    /// The call turned out to have ended with another status: it was denied, or handed over to a
    /// person. Sent only after its `ToolSettled`, and only from `Failed` or `Interrupted` to
    /// `Denied` to `HandedOver`.
    ToolCorrected {
        /// The call.
        tool: ToolRef,
        /// The corrected status.
        status: ToolStatus,
        /// The reason, where the status alone does not give it.
        reason: Option<ToolStatusReason>,
        /// The content of its result, or a placeholder.
        content: RawJson,
    },
    /// The tools that the agent has.
    ToolsAvailable(ToolsAvailable),
    /// The complete task list.
    Tasks(Vec<TaskItem>),
    /// Token usage so far.
    Usage(RunUsage),
    /// A card.
    Activity(ActivityCard),
    /// An error that does not end the run.
    Problem(RunProblem),
    /// The run ended. The last change of every run.
    RunEnded {
        /// How it ended.
        ended: RunEnd,
        /// Counts of its calls by status.
        summary: RunSummary,
        /// When.
        at: Option<u64>,
    },
}

/// A text or a thought: its id in the user interface, and the call it belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UiPart {
    /// Unique in the run.
    pub id: SharedId,
    /// The call whose sub-agent wrote it.
    pub parent: Option<SharedId>,
}

/// A warning for the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunWarning {
    /// Events were dropped because their run never started. Sent once per run.
    NeverStarted {
        /// The run.
        run: SharedId,
        /// The number of events.
        events: usize,
    },
    /// A run was rejected.
    Refused {
        /// The run.
        run: SharedId,
        /// Why.
        refusal: RunRefusal,
    },
    /// Sequence numbers of a run's log did not arrive in time; the run continues without them.
    Missing {
        /// The run.
        run: SharedId,
        /// The first missing number.
        from: u64,
        /// The last missing number.
        to: u64,
    },
    /// A status, an outcome or a type of event that we do not know.
    UnknownWord {
        /// The run.
        run: SharedId,
        /// The unknown value.
        word: String,
    },
    /// The run ended with a tool result whose call never came.
    NeverCalled {
        /// The run.
        run: SharedId,
        /// The call.
        tool: ToolRef,
    },
    /// Too many events are waiting; the oldest are dropped.
    TooManyWaiting {
        /// The run.
        run: SharedId,
    },
}

/// Why a run was not started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunRefusal {
    /// A newer run has started.
    OlderEpoch,
    /// Another run has the same number.
    EpochTaken,
}
