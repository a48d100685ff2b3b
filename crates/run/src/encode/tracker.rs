//! Makes every sequence of changes well formed.
//!
//! The machine sends well-formed changes. But clients reject a whole run for one misplaced event,
//! so every change passes through here first. What the encoders receive has a start, opens before
//! it grows, closes once, and ends once. What does not fit is opened, closed or dropped. Only this
//! module decides that.

mod part;
mod tool;

use std::collections::HashMap;

use crate::{
    ActivityCard, ApprovalRequest, ApprovalVerdict, Outcome, RawJson, RunEnd, RunProblem, RunStart,
    RunSummary, RunUsage, SharedId, TaskItem, ToolRef, ToolStatus, ToolStatusReason,
    ToolsAvailable, UiChange,
};

pub(super) use part::{TrackedPart, TrackedPartKind};
pub(super) use tool::{TrackedRequest, TrackedTool};

use super::unique_names::UniqueNames;

/// A well-formed change, for an encoder.
pub(super) enum TrackedChange<'a> {
    /// The run started. Always the first.
    RunStarted {
        epoch: u64,
        at: Option<u64>,
        started: &'a RunStart,
    },
    /// With a message id for whatever the step does before its first text.
    StepStarted {
        turn: u32,
        message: &'a SharedId,
    },
    StepEnded {
        turn: u32,
    },
    PartStarted(&'a TrackedPart),
    PartDelta(&'a TrackedPart, &'a str),
    PartEnded(&'a TrackedPart),
    ToolStarted(&'a TrackedTool),
    /// The `arguments` of the tool already contain the delta.
    ToolArguments(&'a TrackedTool, &'a str),
    /// The complete arguments; `None` if no more will come.
    ToolReady(&'a TrackedTool, Option<&'a RawJson>),
    ToolStatus(&'a TrackedTool, ToolStatus),
    ToolProgress(&'a TrackedTool, &'a RawJson),
    ApprovalRequested(&'a TrackedTool, &'a TrackedRequest),
    ApprovalReplied(&'a TrackedTool, &'a TrackedRequest, ApprovalVerdict),
    /// Its arguments are ready and it has no open requests.
    ToolEnded(&'a TrackedTool, ToolEnding<'a>),
    /// It has ended, with another status than the one sent before.
    ToolCorrected(&'a TrackedTool, ToolEnding<'a>),
    ToolsAvailable(&'a ToolsAvailable),
    Tasks(&'a SharedId, &'a [TaskItem]),
    Usage(&'a RunUsage),
    Activity(&'a SharedId, &'a ActivityCard),
    Problem(&'a RunProblem),
    /// The run ended. Always the last. Nothing is open except calls that wait for a person.
    RunEnded(RunEnding<'a>),
}

/// How a call ended.
#[derive(Clone, Copy)]
pub(super) struct ToolEnding<'a> {
    pub(super) status: ToolStatus,
    pub(super) reason: Option<ToolStatusReason>,
    pub(super) content: &'a RawJson,
}

/// How a run ended.
pub(super) struct RunEnding<'a> {
    pub(super) outcome: Outcome,
    pub(super) ended: &'a RunEnd,
    pub(super) summary: &'a RunSummary,
    pub(super) at: Option<u64>,
    /// Whether the token limit cut off the last reply.
    pub(super) is_cut: bool,
    /// Calls with open requests.
    pub(super) waiting: Vec<&'a TrackedTool>,
}

/// What to do with requests that are still open when the run ends normally.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenRequestPolicy {
    /// The format can end a run that waits for a person.
    KeepOpen,
    /// The format cannot.
    Close,
}

/// Tracks what is open in a run.
pub(super) struct ChangeTracker {
    run: SharedId,
    open_requests: OpenRequestPolicy,
    phase: TrackerPhase,
    step: Option<u32>,
    /// Whether the token limit cut off the last reply.
    is_cut: bool,
    parts: Vec<TrackedPart>,
    tools: HashMap<ToolRef, TrackedTool>,
    settled: HashMap<ToolRef, TrackedTool>,
    /// The unique name of the last call with an id.
    calls: HashMap<SharedId, SharedId>,
    cards: HashMap<SharedId, SharedId>,
    /// The unique name of the task list.
    tasks: SharedId,
    names: UniqueNames,
    /// Separate, because a request often has the same id as its call.
    requests: UniqueNames,
    opened: u64,
}

#[derive(PartialEq, Eq)]
enum TrackerPhase {
    NotStarted,
    Running,
    Ended,
}

type ChangeSink<'t> = &'t mut dyn FnMut(TrackedChange<'_>);

impl ChangeTracker {
    pub(super) fn new(run: &SharedId, open_requests: OpenRequestPolicy) -> ChangeTracker {
        let mut names = UniqueNames::default();
        ChangeTracker {
            run: run.clone(),
            tasks: names.take(&format!("{run}:tasks")),
            open_requests,
            phase: TrackerPhase::NotStarted,
            step: None,
            is_cut: false,
            parts: Vec::new(),
            tools: HashMap::new(),
            settled: HashMap::new(),
            calls: HashMap::new(),
            cards: HashMap::new(),
            names,
            requests: UniqueNames::default(),
            opened: 0,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == TrackerPhase::Ended
    }

    /// Applies a change, and emits the well-formed changes that follow from it.
    pub(super) fn apply(&mut self, change: &UiChange, emit: ChangeSink<'_>) {
        match (&self.phase, change) {
            (TrackerPhase::Ended, _) | (TrackerPhase::Running, UiChange::RunStarted { .. }) => {
                return;
            }
            (TrackerPhase::NotStarted, UiChange::RunStarted { epoch, at, started }) => {
                self.phase = TrackerPhase::Running;
                return emit(TrackedChange::RunStarted { epoch: *epoch, at: *at, started });
            }
            (TrackerPhase::NotStarted, _) => {
                self.phase = TrackerPhase::Running;
                emit(TrackedChange::RunStarted {
                    epoch: 0,
                    at: None,
                    started: &RunStart::default(),
                });
            }
            (TrackerPhase::Running, _) => {}
        }
        match change {
            UiChange::RunStarted { .. } => {}
            UiChange::StepStarted { turn } => self.start_step(*turn, emit),
            UiChange::StepEnded { turn } if self.step == Some(*turn) => self.end_step(emit),
            UiChange::StepEnded { .. } => {}
            UiChange::TextOpened(part) => self.start_part(TrackedPartKind::Text, part, emit),
            UiChange::TextDelta(part, delta) => {
                self.append_part(TrackedPartKind::Text, part, delta, emit)
            }
            UiChange::TextClosed(part) => self.end_part(TrackedPartKind::Text, part, emit),
            UiChange::ThoughtOpened(part) => self.start_part(TrackedPartKind::Thought, part, emit),
            UiChange::ThoughtDelta(part, delta) => {
                self.append_part(TrackedPartKind::Thought, part, delta, emit)
            }
            UiChange::ThoughtClosed(part) => self.end_part(TrackedPartKind::Thought, part, emit),
            UiChange::ToolOpened { tool, name, parent, title } => {
                self.start_tool(tool, name, parent.as_ref(), title.as_deref(), emit);
            }
            UiChange::ToolArguments { tool, delta } => {
                self.with_tool(tool, emit, |tool, emit| tool.append_arguments(delta, emit));
            }
            UiChange::ToolReady { tool, input } => {
                self.with_tool(tool, emit, |tool, emit| tool.complete_arguments(Some(input), emit));
            }
            UiChange::ToolStatus { tool, status } => {
                self.with_tool(tool, emit, |tool, emit| tool.set_status(*status, emit));
            }
            UiChange::ToolProgress { tool, content } => {
                self.with_tool(tool, emit, |tool, emit| {
                    emit(TrackedChange::ToolProgress(tool, content))
                });
            }
            UiChange::ApprovalRequested { tool, request } => self.add_request(tool, request, emit),
            UiChange::ApprovalClosed { tool, id, verdict } => {
                self.with_tool(tool, emit, |tool, emit| tool.close_request(id, *verdict, emit));
            }
            UiChange::ToolSettled { tool, status, reason, content } => {
                let ending = ToolEnding { status: *status, reason: *reason, content };
                self.end_tool(tool, ending, emit);
            }
            UiChange::ToolCorrected { tool, status, reason, content } => {
                let ending = ToolEnding { status: *status, reason: *reason, content };
                self.correct_tool(tool, ending, emit);
            }
            UiChange::ToolsAvailable(tools) => emit(TrackedChange::ToolsAvailable(tools)),
            UiChange::Tasks(tasks) => emit(TrackedChange::Tasks(&self.tasks, tasks)),
            UiChange::Usage(usage) => emit(TrackedChange::Usage(usage)),
            UiChange::Activity(activity) => {
                let id = self.card_id(activity);
                emit(TrackedChange::Activity(&id, activity));
            }
            UiChange::Problem(problem) => {
                self.is_cut |= problem.is_cut_reply();
                emit(TrackedChange::Problem(problem));
            }
            UiChange::RunEnded { ended, summary, at } => self.end_run(ended, summary, *at, emit),
        }
    }

    fn start_step(&mut self, turn: u32, emit: ChangeSink<'_>) {
        if self.step == Some(turn) {
            return;
        }
        self.end_step(emit);
        self.step = Some(turn);
        self.is_cut = false;
        let message = self.names.take(&format!("{}:step-{turn}", self.run));
        emit(TrackedChange::StepStarted { turn, message: &message });
    }

    /// Ends the step and the run's own open texts. Texts of sub-agents stay open.
    fn end_step(&mut self, emit: ChangeSink<'_>) {
        self.close_parts(|part| part.parent.is_none(), emit);
        if let Some(turn) = self.step.take() {
            emit(TrackedChange::StepEnded { turn });
        }
    }

    fn start_part(&mut self, kind: TrackedPartKind, part: &crate::UiPart, emit: ChangeSink<'_>) {
        if self.parts.iter().any(|open| open.matches(kind, &part.id)) {
            return;
        }
        // The run and each sub-agent have at most one open part.
        let parent = part.parent.as_ref().map(|call| self.call_name(call));
        self.close_parts(|open| open.parent == parent, emit);
        let name = self.names.take(&run_scoped_id(&self.run, &part.id));
        let part = TrackedPart::new(kind, &part.id, name, parent);
        emit(TrackedChange::PartStarted(&part));
        self.parts.push(part);
    }

    fn append_part(
        &mut self,
        kind: TrackedPartKind,
        part: &crate::UiPart,
        delta: &str,
        emit: ChangeSink<'_>,
    ) {
        if delta.is_empty() {
            return;
        }
        if !self.parts.iter().any(|open| open.matches(kind, &part.id)) {
            self.start_part(kind, part, emit);
        }
        if let Some(open) = self.parts.iter_mut().find(|open| open.matches(kind, &part.id)) {
            open.append(delta);
            emit(TrackedChange::PartDelta(open, delta));
        }
    }

    fn end_part(&mut self, kind: TrackedPartKind, part: &crate::UiPart, emit: ChangeSink<'_>) {
        self.close_parts(|open| open.matches(kind, &part.id), emit);
    }

    fn close_parts(&mut self, which: impl Fn(&TrackedPart) -> bool, emit: ChangeSink<'_>) {
        self.parts.retain(|part| {
            let closes = which(part);
            if closes {
                emit(TrackedChange::PartEnded(part));
            }
            !closes
        });
    }

    fn start_tool(
        &mut self,
        tool: &ToolRef,
        name: &SharedId,
        parent: Option<&SharedId>,
        title: Option<&str>,
        emit: ChangeSink<'_>,
    ) {
        if self.settled.contains_key(tool) || self.tools.contains_key(tool) {
            return;
        }
        let parent = parent.map(|call| self.call_name(call));
        let id = self.names.take(&tool.call);
        let result = self.names.take(&format!("{}:{id}:result", self.run));
        self.calls.insert(tool.call.clone(), id.clone());
        self.opened += 1;
        let title = title.map(str::to_owned);
        let open = TrackedTool::new([id, result, name.clone()], parent, title, self.opened);
        emit(TrackedChange::ToolStarted(&open));
        self.tools.insert(tool.clone(), open);
    }

    /// Calls `act` with an unsettled call. Opens the call if it is not open.
    fn with_tool(
        &mut self,
        tool: &ToolRef,
        emit: ChangeSink<'_>,
        act: impl FnOnce(&mut TrackedTool, ChangeSink<'_>),
    ) {
        if !self.tools.contains_key(tool) {
            self.start_tool(tool, &SharedId::from("unknown"), None, None, emit);
        }
        if let Some(open) = self.tools.get_mut(tool) {
            act(open, emit);
        }
    }

    fn add_request(&mut self, tool: &ToolRef, request: &ApprovalRequest, emit: ChangeSink<'_>) {
        let known = self.tools.get(tool).is_some_and(|tool| tool.has_request(request));
        if self.settled.contains_key(tool) || known {
            return;
        }
        let name = match &request.id {
            Some(id) => self.requests.take(id),
            None => self.requests.take(&format!("ask-{}", tool.call)),
        };
        self.with_tool(tool, emit, |tool, emit| tool.add_request(name, request, emit));
    }

    fn end_tool(&mut self, tool: &ToolRef, ending: ToolEnding<'_>, emit: ChangeSink<'_>) {
        self.with_tool(tool, emit, |tool, emit| tool.settle(ending, emit));
        if let Some(settled) = self.tools.remove(tool) {
            self.settled.insert(tool.clone(), settled);
        }
    }

    /// Corrects the status of a settled call. Settles a call that is not settled yet.
    fn correct_tool(&mut self, tool: &ToolRef, ending: ToolEnding<'_>, emit: ChangeSink<'_>) {
        match self.settled.get_mut(tool) {
            None => self.end_tool(tool, ending, emit),
            Some(known) if known.status == ending.status => {}
            // Only a failed or interrupted call can turn out to be denied or handed over.
            Some(known)
                if matches!(
                    known.status,
                    ToolStatus::Failed | ToolStatus::Interrupted | ToolStatus::Denied
                ) && matches!(ending.status, ToolStatus::Denied | ToolStatus::HandedOver) =>
            {
                known.status = ending.status;
                emit(TrackedChange::ToolCorrected(known, ending));
            }
            Some(_) => {}
        }
    }

    /// Returns the unique name of a card. The same id always gives the same name.
    fn card_id(&mut self, activity: &ActivityCard) -> SharedId {
        let base = match &activity.id {
            Some(id) if self.cards.contains_key(id) => {
                return self.cards.get(id).cloned().unwrap_or_default();
            }
            Some(id) => run_scoped_id(&self.run, id),
            None => run_scoped_id(&self.run, &activity.kind),
        };
        let name = self.names.take(&base);
        if let Some(id) = &activity.id {
            self.cards.insert(id.clone(), name.clone());
        }
        name
    }

    fn end_run(
        &mut self,
        ended: &RunEnd,
        summary: &RunSummary,
        at: Option<u64>,
        emit: ChangeSink<'_>,
    ) {
        self.phase = TrackerPhase::Ended;
        self.close_parts(|part| part.kind == TrackedPartKind::Text, emit);
        self.close_parts(|_| true, emit);
        let outcome = ended.outcome.unwrap_or(match &ended.problem {
            Some(_) => Outcome::Failed,
            None => Outcome::Interrupted,
        });
        let keep_open = self.open_requests == OpenRequestPolicy::KeepOpen
            && matches!(outcome, Outcome::Completed | Outcome::NoText);
        let mut tools: Vec<TrackedTool> = std::mem::take(&mut self.tools).into_values().collect();
        // Calls of sub-agents come before the calls that started those sub-agents.
        tools.sort_by_key(|tool| (tool.parent.is_none(), tool.order()));
        for tool in tools.iter_mut().filter(|tool| !tool.ready) {
            tool.complete_arguments(None, emit);
        }
        let (waiting, open): (Vec<TrackedTool>, Vec<TrackedTool>) =
            tools.into_iter().partition(|tool| keep_open && !tool.requests.is_empty());
        for mut tool in open {
            let (status, text) = tool.status_at_run_end();
            let content = RawJson::string(text);
            let reason = Some(ToolStatusReason::RunEnded);
            tool.settle(ToolEnding { status, reason, content: &content }, emit);
        }
        if let Some(turn) = self.step.take() {
            emit(TrackedChange::StepEnded { turn });
        }
        let waiting = waiting.iter().collect();
        let is_cut = self.is_cut;
        emit(TrackedChange::RunEnded(RunEnding { outcome, ended, summary, at, is_cut, waiting }));
    }

    /// Returns the unique name of a call.
    fn call_name(&self, call: &SharedId) -> SharedId {
        self.calls.get(call).unwrap_or(call).clone()
    }
}

/// Adds the run to an id: part ids are unique only in their run, message ids must be in the
/// session.
fn run_scoped_id(run: &str, id: &str) -> String {
    format!("{run}:{id}")
}
