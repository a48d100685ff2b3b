//! One run: what its events change.

use super::{
    RunContext, TextItem, TextKind, ToolCallState,
    call_table::CallTable,
    change::EventImpact,
    order::{EventOrder, EventPosition, LAST_PLACE},
    texts::RunTexts,
};
use crate::{
    EventPayload, Outcome, RunEffect, RunEnd, RunEvent, RunProblem, RunStart, RunSummary, RunUsage,
    RunWarning, SharedId, ToolOutcome, ToolsAvailable, UiChange,
};

/// A run that has begun.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    pub(super) id: SharedId,
    pub(super) epoch: u64,
    pub(super) started: RunStart,
    pub(super) started_at: Option<u64>,
    pub(super) phase: RunPhase,
    /// Whether we give out the places, or read a log.
    pub(super) origin: EventOrigin,
    order: EventOrder,
    /// Calls at work that a stop waits for.
    pub(super) unfinished: Vec<usize>,
    /// When a newer run began: how long this one has to come to its own end.
    superseded: Option<u64>,
    pub(super) turn: u32,
    pub(super) message: Option<SharedId>,
    pub(super) step: Option<u32>,
    pub(super) table: CallTable,
    pub(super) texts: RunTexts,
    pub(super) available: Option<ToolsAvailable>,
    pub(super) usage: RunUsage,
    pub(super) counts: EventCounts,
}

/// How far a run is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RunPhase {
    /// At work.
    Running,
    /// Its outcome is decided, and tools may still finish.
    Stopping {
        /// What was decided.
        ended: RunEnd,
        /// When it is over at the latest, on the machine's own clock.
        deadline: u64,
    },
    /// Over.
    Ended {
        /// How.
        ended: RunEnd,
        /// In numbers.
        summary: RunSummary,
        /// When, as its source says.
        at: Option<u64>,
    },
}

/// What became of a run's events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventCounts {
    /// They changed something, or have their place in the log.
    pub accepted: u64,
    /// They said what was known.
    pub repeated: u64,
    /// They came after the end.
    pub late: u64,
    /// Places of the log that nobody sent.
    pub missing: u64,
}

/// What a user interface blinks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ActivityFlags {
    /// The run is at work.
    pub generating: bool,
    /// The model thinks.
    pub thinking: bool,
    /// The model speaks.
    pub streaming: bool,
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum EventOrigin {
    /// From whoever runs the agent: it has no place yet.
    Source,
    /// Out of a log.
    Log,
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &SharedId {
        &self.id
    }

    /// Its number in the session.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How far it is.
    pub fn phase(&self) -> &RunPhase {
        &self.phase
    }

    /// How it ended; `None` before.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            RunPhase::Running | RunPhase::Stopping { .. } => None,
            RunPhase::Ended { ended, .. } => ended.outcome,
        }
    }

    /// Its calls, in the order in which they were first heard of.
    pub fn tools(&self) -> &[ToolCallState] {
        &self.table.tools
    }

    /// Its texts and thoughts, in the order in which they began.
    pub fn texts(&self) -> &[TextItem] {
        &self.texts.items
    }

    /// Its calls in numbers.
    pub fn summary(&self) -> RunSummary {
        let available = self.available.as_ref().map(|available| available.tools.len());
        let mut summary = RunSummary { available, ..RunSummary::default() };
        // An answer whose call never came is no call.
        for tool in self.table.tools.iter().filter(|tool| tool.was_called()) {
            summary.add(tool.status());
        }
        summary
    }

    /// What became of its events.
    pub fn counts(&self) -> EventCounts {
        self.counts
    }

    /// What it cost so far.
    pub fn usage(&self) -> RunUsage {
        self.usage
    }

    /// What blinks. Nothing does behind the end.
    pub fn flags(&self) -> ActivityFlags {
        if self.is_over() {
            return ActivityFlags::default();
        }
        let live = self.texts.open_kind();
        ActivityFlags {
            generating: true,
            thinking: live == Some(TextKind::Thought),
            streaming: live == Some(TextKind::Text),
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, RunPhase::Ended { .. })
    }

    pub(super) fn new(id: SharedId, epoch: u64, started: RunStart, started_at: Option<u64>) -> Run {
        Run {
            id,
            epoch,
            started,
            started_at,
            phase: RunPhase::Running,
            origin: EventOrigin::Source,
            order: EventOrder::after_start(0),
            unfinished: Vec::new(),
            superseded: None,
            turn: 0,
            message: None,
            step: None,
            table: CallTable::default(),
            texts: RunTexts::default(),
            available: None,
            usage: RunUsage::default(),
            counts: EventCounts::default(),
        }
    }

    /// The first event.
    pub(super) fn begin(&mut self, mut event: RunEvent, world: &mut RunContext<'_>) {
        let place = match event.seq {
            Some(seq) => {
                self.origin = EventOrigin::Log;
                seq.min(LAST_PLACE)
            }
            None => 1,
        };
        self.order = EventOrder::after_start(place);
        event.seq = Some(place);
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        self.warn_unknown(&event, world);
        let change = UiChange::RunStarted {
            epoch: self.epoch,
            at: self.started_at,
            started: self.started.clone(),
        };
        world.effects.push(RunEffect::Emit(event));
        self.show_change(change, world);
    }

    pub(super) fn take_event(&mut self, event: RunEvent, world: &mut RunContext<'_>) {
        let Some(seq) = event.seq else {
            // Whoever writes now has taken the log over: what is missing will not come.
            while self.order.early_count() > 0 {
                self.skip_missing(world);
            }
            self.accept(event, EventOrigin::Source, world);
            return;
        };
        match self.order.claim_position(seq) {
            EventPosition::Repeated => self.counts.repeated += 1,
            EventPosition::Next => {
                self.accept(event, EventOrigin::Log, world);
                self.apply_early(world);
            }
            EventPosition::Early if self.is_over() => self.counts.late += 1,
            EventPosition::Early => {
                self.order.hold(seq, event);
                if self.order.early_count() > world.settings.limits.waiting {
                    self.skip_missing(world);
                } else {
                    let deadline = world.clock.later(world.settings.wait);
                    self.order.deadline.get_or_insert(deadline);
                }
            }
        }
    }

    /// The next moment at which time alone changes something.
    pub(super) fn deadline(&self) -> Option<u64> {
        let over = match &self.phase {
            RunPhase::Running => self.superseded,
            RunPhase::Stopping { deadline, .. } => Some(*deadline),
            RunPhase::Ended { .. } => return None,
        };
        [self.order.deadline, over].into_iter().flatten().min()
    }

    /// Such a moment has come.
    pub(super) fn expire(&mut self, world: &mut RunContext<'_>) {
        let due = |moment: Option<u64>| moment.is_some_and(|at| world.clock.has_passed(at));
        let (gap, superseded) = (due(self.order.deadline), due(self.superseded));
        if gap {
            self.skip_missing(world);
        }
        let over = match &self.phase {
            RunPhase::Stopping { ended, deadline } if world.clock.has_passed(*deadline) => {
                Some(ended.clone())
            }
            RunPhase::Running if superseded => {
                Some(RunEnd { outcome: Some(Outcome::Replaced), ..RunEnd::default() })
            }
            RunPhase::Running | RunPhase::Stopping { .. } | RunPhase::Ended { .. } => None,
        };
        if let Some(ended) = over {
            self.end(ended, None, None, self.origin, world);
        }
    }

    /// There is no room for runs that nobody ends.
    pub(super) fn replace(&mut self, world: &mut RunContext<'_>) {
        let ended = RunEnd { outcome: Some(Outcome::Replaced), ..RunEnd::default() };
        if !self.is_over() {
            self.end(ended, None, None, self.origin, world);
        }
    }

    /// A newer run has begun: this one gets a moment to come to its own end.
    pub(super) fn supersede(&mut self, deadline: u64) {
        if !self.is_over() {
            self.superseded.get_or_insert(deadline);
        }
    }

    fn skip_missing(&mut self, world: &mut RunContext<'_>) {
        if let Some((from, to)) = self.order.skip_missing() {
            self.counts.missing += to - from + 1;
            let run = self.id.clone();
            world.effects.push(RunEffect::Warn(RunWarning::Missing { run, from, to }));
        }
        self.order.deadline = None;
        self.apply_early(world);
    }

    fn apply_early(&mut self, world: &mut RunContext<'_>) {
        while let Some(event) = self.order.take_next() {
            self.accept(event, EventOrigin::Log, world);
        }
        self.order.deadline = match (self.order.early_count(), self.order.deadline) {
            (0, _) => None,
            (_, Some(deadline)) => Some(deadline),
            (_, None) => Some(world.clock.later(world.settings.wait)),
        };
    }

    fn accept(&mut self, mut event: RunEvent, origin: EventOrigin, world: &mut RunContext<'_>) {
        let refused = match &self.phase {
            RunPhase::Running => false,
            RunPhase::Stopping { .. } => {
                origin == EventOrigin::Source && !counts_while_stopping(&event.body)
            }
            RunPhase::Ended { .. } => true,
        };
        if refused {
            self.counts.late += 1;
            return;
        }
        self.warn_unknown(&event, world);
        if let EventPayload::Ended(ended) = &event.body {
            let ended = ended.clone();
            self.end(ended, Some(event), None, origin, world);
            return;
        }
        let before = world.effects.len();
        let seq = event.seq.unwrap_or(self.order.next());
        let news = self.apply_event(&event, seq, world);
        if news == EventImpact::Unchanged && origin == EventOrigin::Source {
            self.counts.repeated += 1;
            return;
        }
        let at = event.at;
        let decided = end_decision(&event.body);
        if news == EventImpact::HandedOver && origin == EventOrigin::Source {
            hand_over(&mut event.body);
        }
        self.emit(before, event, origin, world);
        match news {
            EventImpact::Unchanged | EventImpact::Changed | EventImpact::HandedOver => {}
            EventImpact::CallClosed(place) => self.close_children(place, at, origin, world),
            EventImpact::ParentClosed(place) => self.close_branch(place, at, origin, world),
        }
        if let Some((ended, grace)) = decided {
            self.decide((ended, grace), at, origin, world);
        }
        self.end_if_settled(at, world);
    }

    fn warn_unknown(&self, event: &RunEvent, world: &mut RunContext<'_>) {
        if let Some(word) = &event.unknown_word {
            let (run, word) = (self.id.clone(), word.to_string());
            world.effects.push(RunEffect::Warn(RunWarning::UnknownWord { run, word }));
        }
    }

    /// Puts an event into the log, in front of what it changed.
    pub(super) fn emit(
        &mut self,
        before: usize,
        mut event: RunEvent,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        if origin == EventOrigin::Source {
            event.seq = Some(self.order.take_place());
        }
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        world.effects.insert(before, RunEffect::Emit(event));
    }

    pub(super) fn show_change(&self, change: UiChange, world: &mut RunContext<'_>) {
        world.effects.push(RunEffect::Show { run: self.id.clone(), change });
    }

    pub(super) fn next_place(&self) -> u64 {
        self.order.next()
    }

    pub(super) fn drop_early(&mut self) {
        self.counts.late += self.order.close() as u64;
    }
}

/// The log says that a question was handed over, so that whoever reads it need not know which tools
/// ask a person, and keeps what the host made of the person's answer to itself.
fn hand_over(body: &mut EventPayload) {
    if let EventPayload::ToolResult(result) = body {
        result.outcome = ToolOutcome::HandedOver;
        result.content = None;
    }
}

/// Whether an event decides how the run ends, and how long tools may take to finish.
fn end_decision(body: &EventPayload) -> Option<(RunEnd, u64)> {
    let (outcome, problem, grace) = match body {
        EventPayload::Problem(problem) if problem.fatal => {
            (Outcome::Failed, Some(problem.clone()), 0)
        }
        EventPayload::Stop(stop) => (Outcome::Stopped, None, stop.grace),
        EventPayload::TimedOut { call: None } => {
            let message = "nothing came for too long".to_owned();
            let code = Some(SharedId::from("timed_out"));
            (Outcome::Failed, Some(RunProblem { message, code, fatal: true }), 0)
        }
        _ => return None,
    };
    Some((RunEnd { outcome: Some(outcome), problem, ..RunEnd::default() }, grace))
}

/// While a run stops, tools may finish and nothing may begin.
fn counts_while_stopping(body: &EventPayload) -> bool {
    match body {
        EventPayload::ToolResult(_)
        | EventPayload::ToolProgress { .. }
        | EventPayload::ToolCancelled { .. }
        | EventPayload::ApprovalReplied(_)
        | EventPayload::TimedOut { .. }
        | EventPayload::Usage(_)
        | EventPayload::Activity(_)
        | EventPayload::Problem(_)
        | EventPayload::Stop(_)
        | EventPayload::Ended(_) => true,
        EventPayload::Started(_)
        | EventPayload::ToolsAvailable(_)
        | EventPayload::TurnStarted(_)
        | EventPayload::Text(_)
        | EventPayload::Thought(_)
        | EventPayload::ToolCall(_)
        | EventPayload::ToolArguments { .. }
        | EventPayload::ApprovalRequested(_)
        | EventPayload::Tasks(_)
        | EventPayload::Unknown { .. } => false,
    }
}
