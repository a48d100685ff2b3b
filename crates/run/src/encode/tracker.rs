//! Makes changes fit together, whatever came in.
//!
//! The machine sends changes that are well formed. Readers of the standards refuse a whole run for
//! one event out of place, so nothing is left to that: every change passes here first, and what the
//! encoders are told has a beginning, opens before it grows, closes once, and ends once. What would
//! not fit is opened, closed or dropped. This is the only place that decides such things.

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

/// What an encoder is told.
pub(super) enum TrackedChange<'a> {
    /// The run began. Always the first.
    RunStarted {
        epoch: u64,
        at: Option<u64>,
        started: &'a RunStart,
    },
    /// With the name of a message, for what the step does before it says anything.
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
    /// The tool's `arguments` hold the piece already.
    ToolArguments(&'a TrackedTool, &'a str),
    /// All arguments; or nothing more of them will come.
    ToolReady(&'a TrackedTool, Option<&'a RawJson>),
    ToolStatus(&'a TrackedTool, ToolStatus),
    ToolProgress(&'a TrackedTool, &'a RawJson),
    ApprovalRequested(&'a TrackedTool, &'a TrackedRequest),
    ApprovalReplied(&'a TrackedTool, &'a TrackedRequest, ApprovalVerdict),
    /// Its arguments are ready and nobody is asked about it any more.
    ToolEnded(&'a TrackedTool, ToolEnding<'a>),
    /// It is over, and ended otherwise than was told.
    ToolCorrected(&'a TrackedTool, ToolEnding<'a>),
    ToolsAvailable(&'a ToolsAvailable),
    Tasks(&'a SharedId, &'a [TaskItem]),
    Usage(&'a RunUsage),
    Activity(&'a SharedId, &'a ActivityCard),
    Problem(&'a RunProblem),
    /// The run is over. Always the last, and nothing is open, but for calls that wait.
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
    /// Calls that a person is still asked about.
    pub(super) waiting: Vec<&'a TrackedTool>,
}

/// What becomes of a question that nobody closed when the run ends well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenRequestPolicy {
    /// The standard can end a run that waits for a person.
    KeepOpen,
    /// It cannot.
    Close,
}

/// What is open in a run.
pub(super) struct ChangeTracker {
    run: SharedId,
    open_requests: OpenRequestPolicy,
    phase: TrackerPhase,
    step: Option<u32>,
    parts: Vec<TrackedPart>,
    tools: HashMap<ToolRef, TrackedTool>,
    settled: HashMap<ToolRef, TrackedTool>,
    /// The name that the last call with an id has.
    calls: HashMap<SharedId, SharedId>,
    cards: HashMap<SharedId, SharedId>,
    /// The name of the list of tasks.
    tasks: SharedId,
    names: UniqueNames,
    /// Requests are often called like the call they are about.
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
    pub(super) fn new(run: &SharedId, waiting: OpenRequestPolicy) -> ChangeTracker {
        let mut names = UniqueNames::default();
        ChangeTracker {
            run: run.clone(),
            tasks: names.take(&format!("{run}:tasks")),
            open_requests: waiting,
            phase: TrackerPhase::NotStarted,
            step: None,
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

    /// Takes a change, and tells what it comes to.
    pub(super) fn apply(&mut self, change: &UiChange, tell: ChangeSink<'_>) {
        match (&self.phase, change) {
            (TrackerPhase::Ended, _) | (TrackerPhase::Running, UiChange::RunStarted { .. }) => {
                return;
            }
            (TrackerPhase::NotStarted, UiChange::RunStarted { epoch, at, started }) => {
                self.phase = TrackerPhase::Running;
                return tell(TrackedChange::RunStarted { epoch: *epoch, at: *at, started });
            }
            (TrackerPhase::NotStarted, _) => {
                self.phase = TrackerPhase::Running;
                tell(TrackedChange::RunStarted {
                    epoch: 0,
                    at: None,
                    started: &RunStart::default(),
                });
            }
            (TrackerPhase::Running, _) => {}
        }
        match change {
            UiChange::RunStarted { .. } => {}
            UiChange::StepStarted { turn } => self.start_step(*turn, tell),
            UiChange::StepEnded { turn } if self.step == Some(*turn) => self.end_step(tell),
            UiChange::StepEnded { .. } => {}
            UiChange::TextOpened(part) => self.start_part(TrackedPartKind::Text, part, tell),
            UiChange::TextDelta(part, delta) => {
                self.append_part(TrackedPartKind::Text, part, delta, tell)
            }
            UiChange::TextClosed(part) => self.end_part(TrackedPartKind::Text, part, tell),
            UiChange::ThoughtOpened(part) => self.start_part(TrackedPartKind::Thought, part, tell),
            UiChange::ThoughtDelta(part, delta) => {
                self.append_part(TrackedPartKind::Thought, part, delta, tell)
            }
            UiChange::ThoughtClosed(part) => self.end_part(TrackedPartKind::Thought, part, tell),
            UiChange::ToolOpened { tool, name, parent, title } => {
                self.start_tool(tool, name, parent.as_ref(), title.as_deref(), tell);
            }
            UiChange::ToolArguments { tool, delta } => {
                self.with_tool(tool, tell, |tool, tell| tool.append_arguments(delta, tell));
            }
            UiChange::ToolReady { tool, input } => {
                self.with_tool(tool, tell, |tool, tell| tool.complete_arguments(Some(input), tell));
            }
            UiChange::ToolStatus { tool, status } => {
                self.with_tool(tool, tell, |tool, tell| tool.set_status(*status, tell));
            }
            UiChange::ToolProgress { tool, content } => {
                self.with_tool(tool, tell, |tool, tell| {
                    tell(TrackedChange::ToolProgress(tool, content))
                });
            }
            UiChange::ApprovalRequested { tool, request: ask } => self.add_request(tool, ask, tell),
            UiChange::ApprovalClosed { tool, id, verdict } => {
                self.with_tool(tool, tell, |tool, tell| tool.close_request(id, *verdict, tell));
            }
            UiChange::ToolSettled { tool, status, reason, content } => {
                let settled = ToolEnding { status: *status, reason: *reason, content };
                self.end_tool(tool, settled, tell);
            }
            UiChange::ToolCorrected { tool, status, reason, content } => {
                let settled = ToolEnding { status: *status, reason: *reason, content };
                self.correct_tool(tool, settled, tell);
            }
            UiChange::ToolsAvailable(tools) => tell(TrackedChange::ToolsAvailable(tools)),
            UiChange::Tasks(tasks) => tell(TrackedChange::Tasks(&self.tasks, tasks)),
            UiChange::Usage(usage) => tell(TrackedChange::Usage(usage)),
            UiChange::Activity(activity) => {
                let id = self.card_id(activity);
                tell(TrackedChange::Activity(&id, activity));
            }
            UiChange::Problem(problem) => tell(TrackedChange::Problem(problem)),
            UiChange::RunEnded { ended, summary, at } => self.end_run(ended, summary, *at, tell),
        }
    }

    fn start_step(&mut self, turn: u32, tell: ChangeSink<'_>) {
        if self.step == Some(turn) {
            return;
        }
        self.end_step(tell);
        self.step = Some(turn);
        let message = self.names.take(&format!("{}:step-{turn}", self.run));
        tell(TrackedChange::StepStarted { turn, message: &message });
    }

    /// What the run itself says ends with its step; sub-agents go on.
    fn end_step(&mut self, tell: ChangeSink<'_>) {
        self.close_parts(|part| part.parent.is_none(), tell);
        if let Some(turn) = self.step.take() {
            tell(TrackedChange::StepEnded { turn });
        }
    }

    fn start_part(&mut self, kind: TrackedPartKind, part: &crate::UiPart, tell: ChangeSink<'_>) {
        if self.parts.iter().any(|open| open.matches(kind, &part.id)) {
            return;
        }
        // One speaker says one thing at a time.
        let parent = part.parent.as_ref().map(|call| self.call_name(call));
        self.close_parts(|open| open.parent == parent, tell);
        let name = self.names.take(&run_scoped_id(&self.run, &part.id));
        let part = TrackedPart::new(kind, &part.id, name, parent);
        tell(TrackedChange::PartStarted(&part));
        self.parts.push(part);
    }

    fn append_part(
        &mut self,
        kind: TrackedPartKind,
        part: &crate::UiPart,
        delta: &str,
        tell: ChangeSink<'_>,
    ) {
        if delta.is_empty() {
            return;
        }
        if !self.parts.iter().any(|open| open.matches(kind, &part.id)) {
            self.start_part(kind, part, tell);
        }
        if let Some(open) = self.parts.iter_mut().find(|open| open.matches(kind, &part.id)) {
            open.append(delta);
            tell(TrackedChange::PartDelta(open, delta));
        }
    }

    fn end_part(&mut self, kind: TrackedPartKind, part: &crate::UiPart, tell: ChangeSink<'_>) {
        self.close_parts(|open| open.matches(kind, &part.id), tell);
    }

    fn close_parts(&mut self, which: impl Fn(&TrackedPart) -> bool, tell: ChangeSink<'_>) {
        self.parts.retain(|part| {
            let closes = which(part);
            if closes {
                tell(TrackedChange::PartEnded(part));
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
        tell: ChangeSink<'_>,
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
        tell(TrackedChange::ToolStarted(&open));
        self.tools.insert(tool.clone(), open);
    }

    /// A call that is not settled, opened if nobody did.
    fn with_tool(
        &mut self,
        tool: &ToolRef,
        tell: ChangeSink<'_>,
        act: impl FnOnce(&mut TrackedTool, ChangeSink<'_>),
    ) {
        if !self.tools.contains_key(tool) {
            self.start_tool(tool, &SharedId::from("unknown"), None, None, tell);
        }
        if let Some(open) = self.tools.get_mut(tool) {
            act(open, tell);
        }
    }

    fn add_request(&mut self, tool: &ToolRef, ask: &ApprovalRequest, tell: ChangeSink<'_>) {
        let known = self.tools.get(tool).is_some_and(|tool| tool.has_request(ask));
        if self.settled.contains_key(tool) || known {
            return;
        }
        let name = match &ask.id {
            Some(id) => self.requests.take(id),
            None => self.requests.take(&format!("ask-{}", tool.call)),
        };
        self.with_tool(tool, tell, |tool, tell| tool.add_request(name, ask, tell));
    }

    fn end_tool(&mut self, tool: &ToolRef, settled: ToolEnding<'_>, tell: ChangeSink<'_>) {
        self.with_tool(tool, tell, |tool, tell| tool.settle(settled, tell));
        if let Some(settled) = self.tools.remove(tool) {
            self.settled.insert(tool.clone(), settled);
        }
    }

    /// A call that is over ended otherwise. One that is not settled is settled by it.
    fn correct_tool(&mut self, tool: &ToolRef, settled: ToolEnding<'_>, tell: ChangeSink<'_>) {
        match self.settled.get_mut(tool) {
            None => self.end_tool(tool, settled, tell),
            Some(known) if known.status == settled.status => {}
            // Only what seemed to have gone wrong turns out to have been denied, or handed over.
            Some(known)
                if matches!(
                    known.status,
                    ToolStatus::Failed | ToolStatus::Interrupted | ToolStatus::Denied
                ) && matches!(settled.status, ToolStatus::Denied | ToolStatus::HandedOver) =>
            {
                known.status = settled.status;
                tell(TrackedChange::ToolCorrected(known, settled));
            }
            Some(_) => {}
        }
    }

    /// The card's name: the same for the same id.
    fn card_id(&mut self, activity: &ActivityCard) -> SharedId {
        let wanted = match &activity.id {
            Some(id) if self.cards.contains_key(id) => {
                return self.cards.get(id).cloned().unwrap_or_default();
            }
            Some(id) => run_scoped_id(&self.run, id),
            None => run_scoped_id(&self.run, &activity.kind),
        };
        let name = self.names.take(&wanted);
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
        tell: ChangeSink<'_>,
    ) {
        self.phase = TrackerPhase::Ended;
        self.close_parts(|part| part.kind == TrackedPartKind::Text, tell);
        self.close_parts(|_| true, tell);
        let outcome = ended.outcome.unwrap_or(match &ended.problem {
            Some(_) => Outcome::Failed,
            None => Outcome::Interrupted,
        });
        let stays = self.open_requests == OpenRequestPolicy::KeepOpen
            && matches!(outcome, Outcome::Completed | Outcome::NoText);
        let mut tools: Vec<TrackedTool> = std::mem::take(&mut self.tools).into_values().collect();
        // The calls of sub-agents before those that they work for.
        tools.sort_by_key(|tool| (tool.parent.is_none(), tool.order()));
        for tool in tools.iter_mut().filter(|tool| !tool.ready) {
            tool.complete_arguments(None, tell);
        }
        let (waiting, cut): (Vec<TrackedTool>, Vec<TrackedTool>) =
            tools.into_iter().partition(|tool| stays && !tool.requests.is_empty());
        for mut tool in cut {
            let (status, words) = tool.status_at_run_end();
            let content = RawJson::string(words);
            let reason = Some(ToolStatusReason::RunEnded);
            tool.settle(ToolEnding { status, reason, content: &content }, tell);
        }
        if let Some(turn) = self.step.take() {
            tell(TrackedChange::StepEnded { turn });
        }
        let waiting = waiting.iter().collect();
        tell(TrackedChange::RunEnded(RunEnding { outcome, ended, summary, at, waiting }));
    }

    /// The name of a call that somebody works for.
    fn call_name(&self, call: &SharedId) -> SharedId {
        self.calls.get(call).unwrap_or(call).clone()
    }
}

/// A message's id is known for as long as its session, a part's only in its run.
fn run_scoped_id(run: &str, id: &str) -> String {
    format!("{run}:{id}")
}
