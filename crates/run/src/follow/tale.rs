//! Where a reader tells what it read: the run it belongs to, its beginning and its end.

use crate::{
    Body, Ended, Event, Id, Json, Outcome, Problem, Started,
    follow::{Exit, State, calls::Calls},
};

/// How much may wait for the run to begin.
const EARLY: usize = 256;

/// How much is kept of a line that cannot be read, in bytes.
const KEPT: usize = 4096;

/// How far the run is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not begun.
    Ahead,
    /// It is under way.
    UnderWay,
    /// It has ended.
    Over,
}

/// The run that is told, and what has been told since somebody asked.
pub(super) struct Tale {
    /// When the line was printed, if it says so.
    pub(super) at: Option<u64>,
    /// What is known about the run when it begins.
    pub(super) about: Started,
    pub(super) calls: Calls,
    /// The number of the model's last message.
    pub(super) turn: u32,
    phase: Phase,
    run: Id,
    first: Id,
    number: u32,
    next: Option<Id>,
    early: Vec<Event>,
    told: Vec<Event>,
}

impl Tale {
    pub(super) fn new(run: Id, agent: &str) -> Tale {
        Tale {
            at: None,
            about: Started { agent: Some(agent.into()), ..Started::default() },
            calls: Calls::default(),
            turn: 0,
            phase: Phase::Ahead,
            first: run.clone(),
            run,
            number: 1,
            next: None,
            early: Vec::new(),
            told: Vec::new(),
        }
    }

    /// A tale of events that are told already: nothing is begun or ended here.
    pub(super) fn following(run: Id) -> Tale {
        Tale { phase: Phase::UnderWay, ..Tale::new(run, "foxwedge") }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Tells something. What comes before the run has begun waits for it.
    pub(super) fn tell(&mut self, body: Body) {
        self.pass(Event { at: self.at, ..Event::new(&self.run, body) });
    }

    /// Tells something that holds a word nobody knows.
    pub(super) fn tell_odd(&mut self, body: Body, odd: Option<Id>) {
        self.pass(Event { at: self.at, odd, ..Event::new(&self.run, body) });
    }

    /// Tells an event as it is.
    pub(super) fn pass(&mut self, event: Event) {
        match self.phase {
            Phase::Ahead => self.early.push(event),
            Phase::UnderWay | Phase::Over => self.told.push(event),
        }
        if self.early.len() >= EARLY {
            self.begin();
        }
    }

    /// Begins the run, unless it has begun; then what came too early is told.
    pub(super) fn begin(&mut self) {
        if self.phase == Phase::Ahead {
            self.phase = Phase::UnderWay;
            let started = Body::Started(self.about.clone());
            self.told.push(Event { at: self.at, ..Event::new(&self.run, started) });
            self.told.append(&mut self.early);
        }
    }

    /// Ends the run, unless it has ended.
    pub(super) fn end(&mut self, ended: Ended, odd: Option<Id>) {
        if self.phase != Phase::Over {
            self.begin();
            self.tell_odd(Body::Ended(ended), odd);
            self.phase = Phase::Over;
        }
    }

    /// Goes over to the next run, which has not begun.
    pub(super) fn renew(&mut self) {
        self.number = self.number.saturating_add(1);
        let name = || format!("{}-{}", self.first, self.number).into();
        self.run = self.next.take().unwrap_or_else(name);
        self.phase = Phase::Ahead;
        self.calls = Calls::default();
        self.turn = 0;
    }

    /// Names the run that begins next.
    pub(super) fn name_next(&mut self, run: Id) {
        match self.phase {
            Phase::Ahead => {
                self.early.iter_mut().for_each(|event| event.run = run.clone());
                self.run = run;
            }
            Phase::UnderWay | Phase::Over => self.next = Some(run),
        }
    }

    /// A line, or a part of it, of a kind that nobody knows.
    pub(super) fn unknown(&mut self, kind: impl Into<String>, raw: &str) {
        let raw = Json::parse(raw).unwrap_or_else(|| Json::string(beginning(raw)));
        self.tell(Body::Unknown { kind: kind.into(), raw });
    }

    /// A line that is not a JSON object; an empty one is nothing at all.
    pub(super) fn unreadable(&mut self, line: &str) {
        self.at = None;
        let line = line.trim();
        match (line.is_empty(), Json::parse(line)) {
            (true, _) => {}
            (false, Some(raw)) => self.tell(Body::Unknown { kind: "not-an-object".into(), raw }),
            (false, None) => {
                let raw = Json::string(beginning(line));
                self.tell(Body::Unknown { kind: "not-json".into(), raw });
            }
        }
    }

    /// What the agent is doing, if nothing but its calls is to be looked at.
    pub(super) fn state(&self) -> State {
        match self.phase {
            Phase::Ahead => State::Idle,
            Phase::Over => State::Complete,
            Phase::UnderWay => match self.calls.waiting() {
                calls if calls.is_empty() => State::Streaming,
                calls => State::Waiting { calls },
            },
        }
    }

    pub(super) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.told)
    }
}

/// The end of a run that did not come to its own.
pub(super) fn cut_short(exit: Exit) -> Ended {
    let (outcome, code, message) = match exit {
        Exit::Eof | Exit::Code(0) => (
            Outcome::Interrupted,
            "stream-ended",
            "the agent's stream ended before the run did".into(),
        ),
        // A shell says it this way: 128 and the signal.
        Exit::Code(code @ 129..=165) => killed(code - 128),
        Exit::Signal(signal) => killed(signal),
        Exit::Code(code) => {
            let message = format!("the agent left with exit code {code} before the run ended");
            (Outcome::Failed, "exit", message)
        }
    };
    let problem = Problem { message, code: Some(code.into()), fatal: true };
    Ended { outcome: Some(outcome), problem: Some(problem), ..Ended::default() }
}

fn killed(signal: i32) -> (Outcome, &'static str, String) {
    let message = format!("the agent was killed by signal {signal} before the run ended");
    (Outcome::Interrupted, "killed", message)
}

/// As much of a text as is kept.
fn beginning(text: &str) -> &str {
    let end = (0..=KEPT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
