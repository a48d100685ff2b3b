//! The events of one run, produced by the run machine. It needs no store: new events are taken out
//! and written by the caller, in steps or all at once.

use std::sync::{Arc, LazyLock};

use foxwedge_formats::model;
use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent, RunProblem,
    RunStart, RunSummary, RunUsage, SessionMachine,
};

/// The settings of all machines.
static SETTINGS: LazyLock<Arc<MachineSettings>> = LazyLock::new(Arc::default);

/// The events of a run that are not written yet.
#[derive(Debug)]
pub(super) struct RunLog {
    pub(super) run: Arc<str>,
    machine: SessionMachine,
    pending: Vec<RunEvent>,
    /// Room for the effects of an event.
    effects: Vec<RunEffect>,
    end: Option<(RunEnd, RunSummary)>,
    /// Usage of earlier requests of the run.
    total_usage: RunUsage,
}

impl RunLog {
    /// Starts a log.
    pub(super) fn new(run: &Arc<str>, at: u64, start: RunStart) -> RunLog {
        let mut log = RunLog::resume(run);
        log.log_event(at, EventPayload::Started(start));
        log
    }

    /// A log whose first events are in the store.
    pub(super) fn resume(run: &Arc<str>) -> RunLog {
        RunLog {
            run: run.clone(),
            machine: SessionMachine::new(SETTINGS.clone()),
            pending: Vec::new(),
            effects: Vec::new(),
            end: None,
            total_usage: RunUsage::default(),
        }
    }

    /// Replays an event of the store.
    pub(super) fn replay_event(&mut self, event: RunEvent) {
        if let EventPayload::Usage(usage) = &event.body {
            self.total_usage = *usage;
        }
        let at = event.at.unwrap_or_default();
        self.machine.apply(at, MachineInput::Event(event), &mut Vec::new());
    }

    /// Takes the new events, and the end if there is one. The machine knows only this run: the
    /// epoch comes from the store.
    pub(super) fn take_new_events(
        &mut self,
        epoch: Option<u64>,
    ) -> (Vec<RunEvent>, Option<(RunEnd, RunSummary)>) {
        let mut events = std::mem::take(&mut self.pending);
        events.iter_mut().for_each(|event| event.epoch = epoch);
        (events, self.end.take())
    }

    /// Whether the run has ended.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Logs an event. Events after the end are ignored.
    pub(super) fn log_event(&mut self, at: u64, body: EventPayload) {
        let event = RunEvent { at: Some(at), ..RunEvent::new(&self.run, body) };
        let mut effects = std::mem::take(&mut self.effects);
        self.machine.apply(at, MachineInput::Event(event), &mut effects);
        for effect in effects.drain(..) {
            match effect {
                // The store wrote the start itself.
                RunEffect::Emit(event) if event.seq > Some(1) => self.pending.push(event),
                RunEffect::Announce { ended, summary, .. } => self.end = Some((ended, summary)),
                RunEffect::Emit(_)
                | RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Drain { .. }
                | RunEffect::Warn(_) => {}
            }
        }
        self.effects = effects;
    }

    /// Adds the usage of a request to that of earlier ones.
    pub(super) fn add_usage(&mut self, at: u64, usage: &model::TokenUsage) {
        if usage.is_empty() {
            return;
        }
        let sum = |sum: u64, added: Option<u64>| sum.saturating_add(added.unwrap_or(0));
        self.total_usage = RunUsage {
            input: sum(self.total_usage.input, usage.input),
            output: sum(self.total_usage.output, usage.output),
            cached: sum(self.total_usage.cached, usage.cache_read),
            reasoning: sum(self.total_usage.reasoning, usage.reasoning),
        };
        self.log_event(at, EventPayload::Usage(self.total_usage));
    }

    /// Ends the run, unless it has ended.
    pub(super) fn end(&mut self, at: u64, outcome: Option<Outcome>, text: Option<String>) {
        if self.is_over() {
            return;
        }
        self.log_event(at, EventPayload::Ended(RunEnd { outcome, text, ..RunEnd::default() }));
    }

    /// Ends the run with an error code.
    pub(super) fn fail(&mut self, at: u64, code: &str) {
        let message = format!("the request failed: {code}");
        self.log_event(
            at,
            EventPayload::Problem(RunProblem { message, code: Some(code.into()), fatal: true }),
        );
    }

    /// Logs a warning. The run continues.
    pub(super) fn warn(&mut self, at: u64, code: &str, message: &str) {
        let message = message.to_owned();
        self.log_event(
            at,
            EventPayload::Problem(RunProblem { message, code: Some(code.into()), fatal: false }),
        );
    }

    /// The number of events that came after the end.
    pub(super) fn late_events(&self) -> u64 {
        self.machine.run(&self.run).map_or(0, |run| run.counts().late)
    }
}
