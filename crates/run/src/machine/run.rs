//! One run: its state, and how events are accepted.

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

/// A run that has started.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    pub(super) id: SharedId,
    pub(super) epoch: u64,
    pub(super) started: RunStart,
    pub(super) started_at: Option<u64>,
    pub(super) phase: RunPhase,
    /// Whether we number the events, or read a log.
    pub(super) origin: EventOrigin,
    order: EventOrder,
    /// Running calls that a stop waits for.
    pub(super) unfinished: Vec<usize>,
    /// Set when a newer run started: the deadline for this run to end by itself.
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

/// The phase of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RunPhase {
    /// Running.
    Running,
    /// The outcome is decided; tools may still finish.
    Stopping {
        /// The end that was decided.
        ended: RunEnd,
        /// When it ends at the latest, on the machine's own clock.
        deadline: u64,
    },
    /// Ended.
    Ended {
        /// How it ended.
        ended: RunEnd,
        /// Counts of its calls by status.
        summary: RunSummary,
        /// When it ended, as the source reports it.
        at: Option<u64>,
    },
}

/// Counts of a run's events by what happened to them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventCounts {
    /// Events that changed something or have a sequence number in the log.
    pub accepted: u64,
    /// Events that contained nothing new.
    pub repeated: u64,
    /// Events that arrived after the end.
    pub late: u64,
    /// Sequence numbers of the log that never arrived.
    pub missing: u64,
}

/// Activity indicators for a user interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ActivityFlags {
    /// The run is in progress.
    pub generating: bool,
    /// The model is reasoning.
    pub thinking: bool,
    /// The model is writing text.
    pub streaming: bool,
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum EventOrigin {
    /// The process that runs the agent. The event has no sequence number yet.
    Source,
    /// A log.
    Log,
}

impl Run {
    /// The id of the run.
    pub fn id(&self) -> &SharedId {
        &self.id
    }

    /// The number of the run in its session.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The phase of the run.
    pub fn phase(&self) -> &RunPhase {
        &self.phase
    }

    /// The outcome; `None` before the end.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            RunPhase::Running | RunPhase::Stopping { .. } => None,
            RunPhase::Ended { ended, .. } => ended.outcome,
        }
    }

    /// Its calls, in the order in which they first appeared.
    pub fn tools(&self) -> &[ToolCallState] {
        &self.table.tools
    }

    /// Its texts and thoughts, in the order in which they started.
    pub fn texts(&self) -> &[TextItem] {
        &self.texts.items
    }

    /// Counts its calls by status.
    pub fn summary(&self) -> RunSummary {
        let available = self.available.as_ref().map(|available| available.tools.len());
        let mut summary = RunSummary { available, ..RunSummary::default() };
        // A tool result whose call never came is not a call.
        for tool in self.table.tools.iter().filter(|tool| tool.was_called()) {
            summary.add(tool.status());
        }
        summary
    }

    /// Counts of its events by what happened to them.
    pub fn counts(&self) -> EventCounts {
        self.counts
    }

    /// Token usage so far.
    pub fn usage(&self) -> RunUsage {
        self.usage
    }

    /// The activity indicators. None is set after the end.
    pub fn flags(&self) -> ActivityFlags {
        if self.is_over() {
            return ActivityFlags::default();
        }
        let open = self.texts.open_kind();
        ActivityFlags {
            generating: true,
            thinking: open == Some(TextKind::Thought),
            streaming: open == Some(TextKind::Text),
        }
    }

    /// Whether the run has ended.
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

    /// Applies the start event.
    pub(super) fn begin(&mut self, mut event: RunEvent, context: &mut RunContext<'_>) {
        let seq = match event.seq {
            Some(seq) => {
                self.origin = EventOrigin::Log;
                seq.min(LAST_PLACE)
            }
            None => 1,
        };
        self.order = EventOrder::after_start(seq);
        event.seq = Some(seq);
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        self.warn_unknown(&event, context);
        let change = UiChange::RunStarted {
            epoch: self.epoch,
            at: self.started_at,
            started: self.started.clone(),
        };
        context.effects.push(RunEffect::Emit(event));
        self.show_change(change, context);
    }

    pub(super) fn take_event(&mut self, event: RunEvent, context: &mut RunContext<'_>) {
        let Some(seq) = event.seq else {
            // An event without a sequence number means that its source now writes the log: missing
            // events will not arrive.
            while self.order.early_count() > 0 {
                self.skip_missing(context);
            }
            self.accept(event, EventOrigin::Source, context);
            return;
        };
        match self.order.claim_position(seq) {
            EventPosition::Repeated => self.counts.repeated += 1,
            EventPosition::Next => {
                self.accept(event, EventOrigin::Log, context);
                self.apply_early(context);
            }
            EventPosition::Early if self.is_over() => self.counts.late += 1,
            EventPosition::Early => {
                self.order.hold(seq, event);
                if self.order.early_count() > context.settings.limits.waiting {
                    self.skip_missing(context);
                } else {
                    let deadline = context.clock.later(context.settings.wait);
                    self.order.deadline.get_or_insert(deadline);
                }
            }
        }
    }

    /// The next moment at which something times out.
    pub(super) fn deadline(&self) -> Option<u64> {
        let end_deadline = match &self.phase {
            RunPhase::Running => self.superseded,
            RunPhase::Stopping { deadline, .. } => Some(*deadline),
            RunPhase::Ended { .. } => return None,
        };
        [self.order.deadline, end_deadline].into_iter().flatten().min()
    }

    /// Applies every timeout that is due.
    pub(super) fn expire(&mut self, context: &mut RunContext<'_>) {
        let is_due = |moment: Option<u64>| moment.is_some_and(|at| context.clock.has_passed(at));
        let (has_gap, superseded) = (is_due(self.order.deadline), is_due(self.superseded));
        if has_gap {
            self.skip_missing(context);
        }
        let end = match &self.phase {
            RunPhase::Stopping { ended, deadline } if context.clock.has_passed(*deadline) => {
                Some(ended.clone())
            }
            RunPhase::Running if superseded => {
                Some(RunEnd { outcome: Some(Outcome::Replaced), ..RunEnd::default() })
            }
            RunPhase::Running | RunPhase::Stopping { .. } | RunPhase::Ended { .. } => None,
        };
        if let Some(ended) = end {
            self.end(ended, None, None, self.origin, context);
        }
    }

    /// Ends a run that must be removed to make room.
    pub(super) fn replace(&mut self, context: &mut RunContext<'_>) {
        let ended = RunEnd { outcome: Some(Outcome::Replaced), ..RunEnd::default() };
        if !self.is_over() {
            self.end(ended, None, None, self.origin, context);
        }
    }

    /// A newer run has started: this run gets until the deadline to end by itself.
    pub(super) fn supersede(&mut self, deadline: u64) {
        if !self.is_over() {
            self.superseded.get_or_insert(deadline);
        }
    }

    fn skip_missing(&mut self, context: &mut RunContext<'_>) {
        if let Some((from, to)) = self.order.skip_missing() {
            self.counts.missing += to - from + 1;
            let run = self.id.clone();
            context.effects.push(RunEffect::Warn(RunWarning::Missing { run, from, to }));
        }
        self.order.deadline = None;
        self.apply_early(context);
    }

    fn apply_early(&mut self, context: &mut RunContext<'_>) {
        while let Some(event) = self.order.take_next() {
            self.accept(event, EventOrigin::Log, context);
        }
        self.order.deadline = match (self.order.early_count(), self.order.deadline) {
            (0, _) => None,
            (_, Some(deadline)) => Some(deadline),
            (_, None) => Some(context.clock.later(context.settings.wait)),
        };
    }

    fn accept(&mut self, mut event: RunEvent, origin: EventOrigin, context: &mut RunContext<'_>) {
        let is_late = match &self.phase {
            RunPhase::Running => false,
            RunPhase::Stopping { .. } => {
                origin == EventOrigin::Source && !counts_while_stopping(&event.body)
            }
            RunPhase::Ended { .. } => true,
        };
        if is_late {
            self.counts.late += 1;
            return;
        }
        self.warn_unknown(&event, context);
        if let EventPayload::Ended(ended) = &event.body {
            let ended = ended.clone();
            self.end(ended, Some(event), None, origin, context);
            return;
        }
        let before = context.effects.len();
        let seq = event.seq.unwrap_or(self.order.next());
        let impact = self.apply_event(&event, seq, context);
        if impact == EventImpact::Unchanged && origin == EventOrigin::Source {
            self.counts.repeated += 1;
            return;
        }
        let at = event.at;
        let decided = end_decision(&event.body);
        if impact == EventImpact::HandedOver && origin == EventOrigin::Source {
            hand_over(&mut event.body);
        }
        self.emit(before, event, origin, context);
        match impact {
            EventImpact::Unchanged | EventImpact::Changed | EventImpact::HandedOver => {}
            EventImpact::CallClosed(index) => self.close_children(index, at, origin, context),
            EventImpact::ParentClosed(index) => self.close_branch(index, at, origin, context),
        }
        if let Some((ended, grace)) = decided {
            self.decide((ended, grace), at, origin, context);
        }
        self.end_if_settled(at, context);
    }

    fn warn_unknown(&self, event: &RunEvent, context: &mut RunContext<'_>) {
        if let Some(word) = &event.unknown_word {
            let (run, word) = (self.id.clone(), word.to_string());
            context.effects.push(RunEffect::Warn(RunWarning::UnknownWord { run, word }));
        }
    }

    /// Appends an event to the log, before the changes it caused.
    pub(super) fn emit(
        &mut self,
        before: usize,
        mut event: RunEvent,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        if origin == EventOrigin::Source {
            event.seq = Some(self.order.take_place());
        }
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        context.effects.insert(before, RunEffect::Emit(event));
    }

    pub(super) fn show_change(&self, change: UiChange, context: &mut RunContext<'_>) {
        context.effects.push(RunEffect::Show { run: self.id.clone(), change });
    }

    pub(super) fn next_place(&self) -> u64 {
        self.order.next()
    }

    pub(super) fn drop_early(&mut self) {
        self.counts.late += self.order.close() as u64;
    }
}

/// Records the result as a hand-over. Readers of the log then need not know which tools ask a
/// person, and the person's answer, as the host reports it, stays out of the log.
fn hand_over(body: &mut EventPayload) {
    if let EventPayload::ToolResult(result) = body {
        result.outcome = ToolOutcome::HandedOver;
        result.content = None;
    }
}

/// Returns the end that an event decides, and how long tools may take to finish.
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

/// While a run stops, tools may finish and nothing may start.
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
