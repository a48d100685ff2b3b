//! One run: what its events change.

use super::{
    TextItem, TextKind, Tool, World,
    change::News,
    order::{LAST, Order, Turnout},
    table::Table,
    texts::Texts,
};
use crate::{
    Body, Change, Effect, Ended, Event, How, Id, Outcome, Problem, Started, Summary,
    ToolsAvailable, Usage, Warning,
};

/// A run that has begun.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    pub(super) id: Id,
    pub(super) epoch: u64,
    pub(super) started: Started,
    pub(super) started_at: Option<u64>,
    pub(super) phase: Phase,
    /// Whether we give out the places, or read a log.
    pub(super) origin: Origin,
    order: Order,
    /// Calls at work that a stop waits for.
    pub(super) unfinished: Vec<usize>,
    /// When a newer run began: how long this one has to come to its own end.
    superseded: Option<u64>,
    pub(super) turn: u32,
    pub(super) message: Option<Id>,
    pub(super) step: Option<u32>,
    pub(super) table: Table,
    pub(super) texts: Texts,
    pub(super) available: Option<ToolsAvailable>,
    pub(super) usage: Usage,
    pub(super) counts: Counts,
}

/// How far a run is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// At work.
    Running,
    /// Its outcome is decided, and tools may still finish.
    Stopping {
        /// What was decided.
        ended: Ended,
        /// When it is over at the latest, on the machine's own clock.
        deadline: u64,
    },
    /// Over.
    Ended {
        /// How.
        ended: Ended,
        /// In numbers.
        summary: Summary,
        /// When, as its source says.
        at: Option<u64>,
    },
}

/// What became of a run's events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counts {
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
pub struct Flags {
    /// The run is at work.
    pub generating: bool,
    /// The model thinks.
    pub thinking: bool,
    /// The model speaks.
    pub streaming: bool,
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Origin {
    /// From whoever runs the agent: it has no place yet.
    Source,
    /// Out of a log.
    Log,
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Its number in the session.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How far it is.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// How it ended; `None` before.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            Phase::Running | Phase::Stopping { .. } => None,
            Phase::Ended { ended, .. } => ended.outcome,
        }
    }

    /// Its calls, in the order in which they were first heard of.
    pub fn tools(&self) -> &[Tool] {
        &self.table.tools
    }

    /// Its texts and thoughts, in the order in which they began.
    pub fn texts(&self) -> &[TextItem] {
        &self.texts.items
    }

    /// Its calls in numbers.
    pub fn summary(&self) -> Summary {
        let available = self.available.as_ref().map(|available| available.tools.len());
        let mut summary = Summary { available, ..Summary::default() };
        // An answer whose call never came is no call.
        for tool in self.table.tools.iter().filter(|tool| tool.was_called()) {
            summary.add(tool.status());
        }
        summary
    }

    /// What became of its events.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What it cost so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What blinks. Nothing does behind the end.
    pub fn flags(&self) -> Flags {
        if self.is_over() {
            return Flags::default();
        }
        let live = self.texts.live();
        Flags {
            generating: true,
            thinking: live == Some(TextKind::Thought),
            streaming: live == Some(TextKind::Text),
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    pub(super) fn new(id: Id, epoch: u64, started: Started, started_at: Option<u64>) -> Run {
        Run {
            id,
            epoch,
            started,
            started_at,
            phase: Phase::Running,
            origin: Origin::Source,
            order: Order::behind(0),
            unfinished: Vec::new(),
            superseded: None,
            turn: 0,
            message: None,
            step: None,
            table: Table::default(),
            texts: Texts::default(),
            available: None,
            usage: Usage::default(),
            counts: Counts::default(),
        }
    }

    /// The first event.
    pub(super) fn begin(&mut self, mut event: Event, world: &mut World<'_>) {
        let place = match event.seq {
            Some(seq) => {
                self.origin = Origin::Log;
                seq.min(LAST)
            }
            None => 1,
        };
        self.order = Order::behind(place);
        event.seq = Some(place);
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        self.warn_odd(&event, world);
        let change = Change::RunStarted {
            epoch: self.epoch,
            at: self.started_at,
            started: self.started.clone(),
        };
        world.effects.push(Effect::Emit(event));
        self.tell(change, world);
    }

    pub(super) fn take(&mut self, event: Event, world: &mut World<'_>) {
        let Some(seq) = event.seq else {
            // Whoever writes now has taken the log over: what is missing will not come.
            while self.order.early() > 0 {
                self.skip(world);
            }
            self.accept(event, Origin::Source, world);
            return;
        };
        match self.order.turnout(seq) {
            Turnout::Again => self.counts.repeated += 1,
            Turnout::Next => {
                self.accept(event, Origin::Log, world);
                self.follow(world);
            }
            Turnout::Early if self.is_over() => self.counts.late += 1,
            Turnout::Early => {
                self.order.keep(seq, event);
                if self.order.early() > world.settings.limits.waiting {
                    self.skip(world);
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
            Phase::Running => self.superseded,
            Phase::Stopping { deadline, .. } => Some(*deadline),
            Phase::Ended { .. } => return None,
        };
        [self.order.deadline, over].into_iter().flatten().min()
    }

    /// Such a moment has come.
    pub(super) fn wake(&mut self, world: &mut World<'_>) {
        let due = |moment: Option<u64>| moment.is_some_and(|at| world.clock.has_passed(at));
        let (gap, superseded) = (due(self.order.deadline), due(self.superseded));
        if gap {
            self.skip(world);
        }
        let over = match &self.phase {
            Phase::Stopping { ended, deadline } if world.clock.has_passed(*deadline) => {
                Some(ended.clone())
            }
            Phase::Running if superseded => {
                Some(Ended { outcome: Some(Outcome::Replaced), ..Ended::default() })
            }
            Phase::Running | Phase::Stopping { .. } | Phase::Ended { .. } => None,
        };
        if let Some(ended) = over {
            self.end(ended, None, None, self.origin, world);
        }
    }

    /// There is no room for runs that nobody ends.
    pub(super) fn replace(&mut self, world: &mut World<'_>) {
        let ended = Ended { outcome: Some(Outcome::Replaced), ..Ended::default() };
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

    fn skip(&mut self, world: &mut World<'_>) {
        if let Some((from, to)) = self.order.skip() {
            self.counts.missing += to - from + 1;
            let run = self.id.clone();
            world.effects.push(Effect::Warn(Warning::Missing { run, from, to }));
        }
        self.order.deadline = None;
        self.follow(world);
    }

    fn follow(&mut self, world: &mut World<'_>) {
        while let Some(event) = self.order.follow() {
            self.accept(event, Origin::Log, world);
        }
        self.order.deadline = match (self.order.early(), self.order.deadline) {
            (0, _) => None,
            (_, Some(deadline)) => Some(deadline),
            (_, None) => Some(world.clock.later(world.settings.wait)),
        };
    }

    fn accept(&mut self, mut event: Event, origin: Origin, world: &mut World<'_>) {
        let refused = match &self.phase {
            Phase::Running => false,
            Phase::Stopping { .. } => {
                origin == Origin::Source && !counts_while_stopping(&event.body)
            }
            Phase::Ended { .. } => true,
        };
        if refused {
            self.counts.late += 1;
            return;
        }
        self.warn_odd(&event, world);
        if let Body::Ended(ended) = &event.body {
            let ended = ended.clone();
            self.end(ended, Some(event), None, origin, world);
            return;
        }
        let before = world.effects.len();
        let seq = event.seq.unwrap_or(self.order.next());
        let news = self.change(&event, seq, world);
        if news == News::None && origin == Origin::Source {
            self.counts.repeated += 1;
            return;
        }
        let at = event.at;
        let decided = decision(&event.body);
        if news == News::HandedOver && origin == Origin::Source {
            hand_over(&mut event.body);
        }
        self.emit(before, event, origin, world);
        match news {
            News::None | News::Some | News::HandedOver => {}
            News::Closed(place) => self.close_children(place, at, origin, world),
            News::Doomed(place) => self.close_branch(place, at, origin, world),
        }
        if let Some((ended, grace)) = decided {
            self.decide((ended, grace), at, origin, world);
        }
        self.end_if_settled(at, world);
    }

    fn warn_odd(&self, event: &Event, world: &mut World<'_>) {
        if let Some(word) = &event.odd {
            let (run, word) = (self.id.clone(), word.to_string());
            world.effects.push(Effect::Warn(Warning::UnknownWord { run, word }));
        }
    }

    /// Puts an event into the log, in front of what it changed.
    pub(super) fn emit(
        &mut self,
        before: usize,
        mut event: Event,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        if origin == Origin::Source {
            event.seq = Some(self.order.place());
        }
        event.epoch = Some(self.epoch);
        self.counts.accepted += 1;
        world.effects.insert(before, Effect::Emit(event));
    }

    pub(super) fn tell(&self, change: Change, world: &mut World<'_>) {
        world.effects.push(Effect::Show { run: self.id.clone(), change });
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
fn hand_over(body: &mut Body) {
    if let Body::Result(result) = body {
        result.how = How::HandedOver;
        result.content = None;
    }
}

/// Whether an event decides how the run ends, and how long tools may take to finish.
fn decision(body: &Body) -> Option<(Ended, u64)> {
    let (outcome, problem, grace) = match body {
        Body::Problem(problem) if problem.fatal => (Outcome::Failed, Some(problem.clone()), 0),
        Body::Stop(stop) => (Outcome::Stopped, None, stop.grace),
        Body::TimedOut { call: None } => {
            let message = "nothing came for too long".to_owned();
            let code = Some(Id::from("timed_out"));
            (Outcome::Failed, Some(Problem { message, code, fatal: true }), 0)
        }
        _ => return None,
    };
    Some((Ended { outcome: Some(outcome), problem, ..Ended::default() }, grace))
}

/// While a run stops, tools may finish and nothing may begin.
fn counts_while_stopping(body: &Body) -> bool {
    match body {
        Body::Result(_)
        | Body::Progress { .. }
        | Body::Cancelled { .. }
        | Body::Replied(_)
        | Body::TimedOut { .. }
        | Body::Usage(_)
        | Body::Activity(_)
        | Body::Problem(_)
        | Body::Stop(_)
        | Body::Ended(_) => true,
        Body::Started(_)
        | Body::ToolsAvailable(_)
        | Body::Turn(_)
        | Body::Text(_)
        | Body::Thought(_)
        | Body::Call(_)
        | Body::Arguments { .. }
        | Body::Asked(_)
        | Body::Tasks(_)
        | Body::Unknown { .. } => false,
    }
}
