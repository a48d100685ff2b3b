//! What happens in one run, as the run machine tells it. No store is needed for that: what is to be
//! written is taken out here, by a run that the store has begun or all at once.

use std::sync::Arc;

use foxwedge_dialect::canon;
use foxwedge_run::{
    Body, Effect, Ended, Event, Input, Outcome, Problem, Session, Settings, Started, Summary, Usage,
};

/// What happened in a run, and what of it is not written yet.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) run: Arc<str>,
    machine: Session,
    pending: Vec<Event>,
    end: Option<(Ended, Summary)>,
    /// What earlier requests of the run cost.
    used: Usage,
}

impl Story {
    /// A run begins.
    pub(super) fn new(run: &Arc<str>, at: u64, start: Started) -> Story {
        let mut story = Story {
            run: run.clone(),
            machine: Session::new(Settings::default()),
            pending: Vec::new(),
            end: None,
            used: Usage::default(),
        };
        story.tell(at, Body::Started(start));
        story
    }

    /// Takes out what is new, and the end if there is one. The machine knows this run alone: its
    /// number in its session comes from the store.
    pub(super) fn news(&mut self, epoch: Option<u64>) -> (Vec<Event>, Option<(Ended, Summary)>) {
        let mut events = std::mem::take(&mut self.pending);
        events.iter_mut().for_each(|event| event.epoch = epoch);
        (events, self.end.take())
    }

    /// Whether its end is decided.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Something happens. Behind the end nothing does.
    pub(super) fn tell(&mut self, at: u64, body: Body) {
        let event = Event { at: Some(at), ..Event::new(&self.run, body) };
        let mut effects = Vec::new();
        self.machine.apply(at, Input::Event(event), &mut effects);
        for effect in effects {
            match effect {
                // The store wrote the start itself.
                Effect::Emit(event) if event.seq > Some(1) => self.pending.push(event),
                Effect::Announce { ended, summary, .. } => self.end = Some((ended, summary)),
                Effect::Emit(_)
                | Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. }
                | Effect::Warn(_) => {}
            }
        }
    }

    /// What a request cost, on top of those before it.
    pub(super) fn cost(&mut self, at: u64, usage: &canon::Usage) {
        if usage.is_empty() {
            return;
        }
        let sum = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
        self.used = Usage {
            input: sum(self.used.input, usage.input),
            output: sum(self.used.output, usage.output),
            cached: sum(self.used.cached, usage.cached),
            reasoning: sum(self.used.reasoning, usage.reasoning),
        };
        self.tell(at, Body::Usage(self.used));
    }

    /// It ends, so, unless it has ended.
    pub(super) fn end(&mut self, at: u64, outcome: Option<Outcome>, text: Option<String>) {
        if self.is_over() {
            return;
        }
        self.tell(at, Body::Ended(Ended { outcome, text, ..Ended::default() }));
    }

    /// It ends in trouble, in a word.
    pub(super) fn fail(&mut self, at: u64, code: &str) {
        let message = format!("the request failed: {code}");
        self.tell(at, Body::Problem(Problem { message, code: Some(code.into()), fatal: true }));
    }

    /// Something is wrong, and it goes on.
    pub(super) fn warn(&mut self, at: u64, code: &str, message: &str) {
        let message = message.to_owned();
        self.tell(at, Body::Problem(Problem { message, code: Some(code.into()), fatal: false }));
    }

    /// How many events came behind the end.
    pub(super) fn late(&self) -> u64 {
        self.machine.run(&self.run).map_or(0, |run| run.counts().late)
    }
}
