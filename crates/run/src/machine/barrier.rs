//! The barrier: no event of a run counts before its start, and no run begins behind a newer one.

use std::collections::{BTreeMap, VecDeque};

use super::{Run, Session, World};
use crate::{Body, Effect, Event, Id, Refusal, Warning};

/// Ids that are kept of runs nobody will hear of again.
const REMEMBERED: usize = 256;

/// Events whose run has not begun, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Waiting {
    held: VecDeque<(u64, Event)>,
    /// How many of them each run has.
    counts: BTreeMap<Id, usize>,
    /// Runs that were refused or forgotten, or that somebody was warned about.
    gone: VecDeque<Id>,
    warned: VecDeque<Id>,
    /// Events that were dropped: too late, refused or never begun.
    pub(super) dropped: u64,
}

impl Waiting {
    pub(super) fn deadline(&self) -> Option<u64> {
        self.held.front().map(|(deadline, _)| *deadline)
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    fn take(&mut self, run: &Id) -> Vec<Event> {
        if self.counts.remove(run).is_none() {
            return Vec::new();
        }
        let (mine, others) = self.held.drain(..).partition(|(_, event)| event.run == *run);
        self.held = others;
        let mine: VecDeque<(u64, Event)> = mine;
        mine.into_iter().map(|(_, event)| event).collect()
    }

    /// Drops the oldest event. Whoever runs the machine hears of a run's events once.
    fn drop_oldest(&mut self, effects: &mut Vec<Effect>, warning: fn(Id, usize) -> Warning) {
        let Some((_, event)) = self.held.pop_front() else { return };
        self.dropped += 1;
        let count = self.counts.get(&event.run).copied().unwrap_or(1);
        match count {
            0 | 1 => self.counts.remove(&event.run),
            more => self.counts.insert(event.run.clone(), more - 1),
        };
        if !self.warned.contains(&event.run) {
            effects.push(Effect::Warn(warning(event.run.clone(), count)));
            remember(&mut self.warned, event.run);
        }
    }
}

impl Session {
    /// Begins a run, unless a newer one has begun, and gives it what waited for it.
    pub(super) fn start(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let epoch = event.epoch.unwrap_or(self.epoch.saturating_add(1));
        let refusal = match epoch.cmp(&self.epoch) {
            _ if self.waiting.gone.contains(&event.run) => Some(Refusal::OlderEpoch),
            std::cmp::Ordering::Less => Some(Refusal::OlderEpoch),
            std::cmp::Ordering::Equal => Some(Refusal::EpochTaken),
            std::cmp::Ordering::Greater => None,
        };
        if let Some(refusal) = refusal {
            self.refuse(event.run, refusal, effects);
            return;
        }
        let Body::Started(started) = &event.body else { return };
        self.epoch = epoch;
        self.active = Some(event.run.clone());
        for older in &mut self.runs {
            older.supersede(self.clock.later(self.settings.wait));
        }
        let mut run = Run::new(event.run.clone(), epoch, started.clone(), event.at);
        let waited = self.waiting.take(&event.run);
        let Session { settings, clock, tasks, .. } = self;
        let mut world = World { settings, clock, tasks, effects };
        run.begin(event, &mut world);
        for event in waited {
            run.take(event, &mut world);
        }
        self.runs.push(run);
        self.forget(effects);
    }

    /// Lets an event wait for the start of its run.
    pub(super) fn hold(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let stale = event.epoch.is_some_and(|epoch| epoch <= self.epoch);
        if stale || self.waiting.gone.contains(&event.run) {
            self.waiting.dropped += 1;
            return;
        }
        if self.waiting.len() >= self.settings.limits.waiting {
            self.waiting.drop_oldest(effects, |run, _| Warning::TooMuchWaits { run });
        }
        let deadline = self.clock.later(self.settings.wait);
        *self.waiting.counts.entry(event.run.clone()).or_default() += 1;
        self.waiting.held.push_back((deadline, event));
    }

    /// What time alone changes.
    pub(super) fn expire(&mut self, effects: &mut Vec<Effect>) {
        while self.waiting.deadline().is_some_and(|moment| self.clock.has_passed(moment)) {
            self.waiting.drop_oldest(effects, |run, events| Warning::NeverStarted { run, events });
        }
        let Session { settings, clock, runs, tasks, .. } = self;
        for run in runs.iter_mut() {
            if run.deadline().is_some_and(|moment| clock.has_passed(moment)) {
                run.wake(&mut World { settings, clock: &*clock, tasks, effects });
            }
        }
    }

    fn refuse(&mut self, run: Id, refusal: Refusal, effects: &mut Vec<Effect>) {
        self.waiting.dropped += 1 + self.waiting.take(&run).len() as u64;
        if !self.waiting.gone.contains(&run) {
            effects.push(Effect::Warn(Warning::Refused { run: run.clone(), refusal }));
            remember(&mut self.waiting.gone, run);
        }
    }

    /// Old runs that are over need not be kept.
    fn forget(&mut self, effects: &mut Vec<Effect>) {
        while self.runs.len() > self.settings.limits.runs.max(1) {
            let newest = self.runs.len() - 1;
            let over = |(place, run): (usize, &Run)| place < newest && run.is_over();
            let place = self.runs.iter().enumerate().position(over).unwrap_or(0);
            let mut run = self.runs.remove(place);
            let Session { settings, clock, tasks, .. } = self;
            run.replace(&mut World { settings, clock, tasks, effects });
            remember(&mut self.waiting.gone, run.id);
        }
    }
}

fn remember(list: &mut VecDeque<Id>, run: Id) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(run);
}
