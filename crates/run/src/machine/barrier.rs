//! The barrier: events wait for the start of their run, and a run older than the newest one is
//! refused.

use std::collections::{BTreeMap, VecDeque};

use super::{Run, RunContext, SessionMachine};
use crate::{EventPayload, RunEffect, RunEvent, RunRefusal, RunWarning, SharedId};

/// How many ids of refused or removed runs are kept.
const MAX_REMEMBERED: usize = 256;

/// Events whose run has not started, in the order in which they arrived.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct EventBarrier {
    events: VecDeque<(u64, RunEvent)>,
    /// The number of waiting events per run.
    counts: BTreeMap<SharedId, usize>,
    /// Runs that were refused or removed.
    dropped_runs: VecDeque<SharedId>,
    warned: VecDeque<SharedId>,
    /// The number of dropped events: late, refused or of runs that never started.
    pub(super) dropped: u64,
}

impl EventBarrier {
    pub(super) fn deadline(&self) -> Option<u64> {
        self.events.front().map(|(deadline, _)| *deadline)
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    fn take_events(&mut self, run: &SharedId) -> Vec<RunEvent> {
        if self.counts.remove(run).is_none() {
            return Vec::new();
        }
        let (own, others) = self.events.drain(..).partition(|(_, event)| event.run == *run);
        self.events = others;
        let own: VecDeque<(u64, RunEvent)> = own;
        own.into_iter().map(|(_, event)| event).collect()
    }

    /// Drops the oldest event. Warns once per run.
    fn drop_oldest(
        &mut self,
        effects: &mut Vec<RunEffect>,
        warning: fn(SharedId, usize) -> RunWarning,
    ) {
        let Some((_, event)) = self.events.pop_front() else { return };
        self.dropped += 1;
        let count = self.counts.get(&event.run).copied().unwrap_or(1);
        match count {
            0 | 1 => self.counts.remove(&event.run),
            count => self.counts.insert(event.run.clone(), count - 1),
        };
        if !self.warned.contains(&event.run) {
            effects.push(RunEffect::Warn(warning(event.run.clone(), count)));
            remember(&mut self.warned, event.run);
        }
    }
}

impl SessionMachine {
    /// Starts a run, unless a newer one has started, and applies the events that waited for it.
    pub(super) fn start_run(&mut self, event: RunEvent, effects: &mut Vec<RunEffect>) {
        let epoch = event.epoch.unwrap_or(self.epoch.saturating_add(1));
        let refusal = match epoch.cmp(&self.epoch) {
            _ if self.barrier.dropped_runs.contains(&event.run) => Some(RunRefusal::OlderEpoch),
            std::cmp::Ordering::Less => Some(RunRefusal::OlderEpoch),
            std::cmp::Ordering::Equal => Some(RunRefusal::EpochTaken),
            std::cmp::Ordering::Greater => None,
        };
        if let Some(refusal) = refusal {
            self.refuse(event.run, refusal, effects);
            return;
        }
        let EventPayload::Started(started) = &event.body else { return };
        self.epoch = epoch;
        self.active = Some(event.run.clone());
        for older in &mut self.runs {
            older.supersede(self.clock.later(self.settings.wait));
        }
        let mut run = Run::new(event.run.clone(), epoch, started.clone(), event.at);
        let waiting = self.barrier.take_events(&event.run);
        let SessionMachine { settings, clock, tasks, .. } = self;
        let mut context = RunContext { settings, clock, tasks, effects };
        run.begin(event, &mut context);
        for event in waiting {
            run.take_event(event, &mut context);
        }
        self.runs.push(run);
        self.forget_old_runs(effects);
    }

    /// Keeps an event until its run starts.
    pub(super) fn hold_event(&mut self, event: RunEvent, effects: &mut Vec<RunEffect>) {
        let is_stale = event.epoch.is_some_and(|epoch| epoch <= self.epoch);
        if is_stale || self.barrier.dropped_runs.contains(&event.run) {
            self.barrier.dropped += 1;
            return;
        }
        if self.barrier.len() >= self.settings.limits.waiting {
            self.barrier.drop_oldest(effects, |run, _| RunWarning::TooManyWaiting { run });
        }
        let deadline = self.clock.later(self.settings.wait);
        *self.barrier.counts.entry(event.run.clone()).or_default() += 1;
        self.barrier.events.push_back((deadline, event));
    }

    /// Applies every timeout that is due.
    pub(super) fn expire(&mut self, effects: &mut Vec<RunEffect>) {
        while self.barrier.deadline().is_some_and(|moment| self.clock.has_passed(moment)) {
            self.barrier
                .drop_oldest(effects, |run, events| RunWarning::NeverStarted { run, events });
        }
        let SessionMachine { settings, clock, runs, tasks, .. } = self;
        for run in runs.iter_mut() {
            if run.deadline().is_some_and(|moment| clock.has_passed(moment)) {
                run.expire(&mut RunContext { settings, clock: &*clock, tasks, effects });
            }
        }
    }

    fn refuse(&mut self, run: SharedId, refusal: RunRefusal, effects: &mut Vec<RunEffect>) {
        self.barrier.dropped += 1 + self.barrier.take_events(&run).len() as u64;
        if !self.barrier.dropped_runs.contains(&run) {
            effects.push(RunEffect::Warn(RunWarning::Refused { run: run.clone(), refusal }));
            remember(&mut self.barrier.dropped_runs, run);
        }
    }

    /// Removes the oldest runs beyond the limit, ended ones first.
    fn forget_old_runs(&mut self, effects: &mut Vec<RunEffect>) {
        while self.runs.len() > self.settings.limits.runs.max(1) {
            let newest = self.runs.len() - 1;
            let is_old_and_over = |(index, run): (usize, &Run)| index < newest && run.is_over();
            let index = self.runs.iter().enumerate().position(is_old_and_over).unwrap_or(0);
            let mut run = self.runs.remove(index);
            let SessionMachine { settings, clock, tasks, .. } = self;
            run.replace(&mut RunContext { settings, clock, tasks, effects });
            remember(&mut self.barrier.dropped_runs, run.id);
        }
    }
}

fn remember(list: &mut VecDeque<SharedId>, run: SharedId) {
    if list.len() == MAX_REMEMBERED {
        list.pop_front();
    }
    list.push_back(run);
}
