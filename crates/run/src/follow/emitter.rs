//! Where a reader tells what it read: the run it belongs to, its beginning and its end.

use crate::{
    EventPayload, Outcome, RawJson, RunEnd, RunEvent, RunProblem, RunStart, SharedId,
    follow::{AgentExit, AgentState, calls::StreamCalls},
};

/// How much may wait for the run to begin.
const MAX_EARLY_EVENTS: usize = 256;

/// How much is kept of a line that cannot be read, in bytes.
const MAX_UNREADABLE_BYTES: usize = 4096;

/// How far the run is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EmitterPhase {
    /// It has not begun.
    NotStarted,
    /// It is under way.
    Running,
    /// It has ended.
    Ended,
}

/// The run that is told, and what has been told since somebody asked.
pub(super) struct RunEmitter {
    /// When the line was printed, if it says so.
    pub(super) at: Option<u64>,
    /// What is known about the run when it begins.
    pub(super) start: RunStart,
    pub(super) calls: StreamCalls,
    /// The number of the model's last message.
    pub(super) turn: u32,
    phase: EmitterPhase,
    run: SharedId,
    base_id: SharedId,
    number: u32,
    next_id: Option<SharedId>,
    early: Vec<RunEvent>,
    emitted: Vec<RunEvent>,
}

impl RunEmitter {
    pub(super) fn new(run: SharedId, agent: &str) -> RunEmitter {
        RunEmitter {
            at: None,
            start: RunStart { agent: Some(agent.into()), ..RunStart::default() },
            calls: StreamCalls::default(),
            turn: 0,
            phase: EmitterPhase::NotStarted,
            base_id: run.clone(),
            run,
            number: 1,
            next_id: None,
            early: Vec::new(),
            emitted: Vec::new(),
        }
    }

    /// A tale of events that are told already: nothing is begun or ended here.
    pub(super) fn for_log(run: SharedId) -> RunEmitter {
        RunEmitter { phase: EmitterPhase::Running, ..RunEmitter::new(run, "foxwedge") }
    }

    pub(super) fn phase(&self) -> EmitterPhase {
        self.phase
    }

    /// Tells something. What comes before the run has begun waits for it.
    pub(super) fn emit(&mut self, body: EventPayload) {
        self.emit_event(RunEvent { at: self.at, ..RunEvent::new(&self.run, body) });
    }

    /// Tells something that holds a word nobody knows.
    pub(super) fn emit_with_unknown(&mut self, body: EventPayload, odd: Option<SharedId>) {
        self.emit_event(RunEvent {
            at: self.at,
            unknown_word: odd,
            ..RunEvent::new(&self.run, body)
        });
    }

    /// Tells an event as it is.
    pub(super) fn emit_event(&mut self, event: RunEvent) {
        match self.phase {
            EmitterPhase::NotStarted => self.early.push(event),
            EmitterPhase::Running | EmitterPhase::Ended => self.emitted.push(event),
        }
        if self.early.len() >= MAX_EARLY_EVENTS {
            self.begin();
        }
    }

    /// Begins the run, unless it has begun; then what came too early is told.
    pub(super) fn begin(&mut self) {
        if self.phase == EmitterPhase::NotStarted {
            self.phase = EmitterPhase::Running;
            let started = EventPayload::Started(self.start.clone());
            self.emitted.push(RunEvent { at: self.at, ..RunEvent::new(&self.run, started) });
            self.emitted.append(&mut self.early);
        }
    }

    /// Ends the run, unless it has ended.
    pub(super) fn end(&mut self, ended: RunEnd, odd: Option<SharedId>) {
        if self.phase != EmitterPhase::Ended {
            self.begin();
            self.emit_with_unknown(EventPayload::Ended(ended), odd);
            self.phase = EmitterPhase::Ended;
        }
    }

    /// Goes over to the next run, which has not begun.
    pub(super) fn start_next_run(&mut self) {
        self.number = self.number.saturating_add(1);
        let name = || format!("{}-{}", self.base_id, self.number).into();
        self.run = self.next_id.take().unwrap_or_else(name);
        self.phase = EmitterPhase::NotStarted;
        self.calls = StreamCalls::default();
        self.turn = 0;
    }

    /// Names the run that begins next.
    pub(super) fn name_next(&mut self, run: SharedId) {
        match self.phase {
            EmitterPhase::NotStarted => {
                self.early.iter_mut().for_each(|event| event.run = run.clone());
                self.run = run;
            }
            EmitterPhase::Running | EmitterPhase::Ended => self.next_id = Some(run),
        }
    }

    /// A line, or a part of it, of a kind that nobody knows.
    pub(super) fn emit_unknown(&mut self, kind: impl Into<String>, raw: &str) {
        let raw = RawJson::parse(raw).unwrap_or_else(|| RawJson::string(truncate(raw)));
        self.emit(EventPayload::Unknown { kind: kind.into(), raw });
    }

    /// A line that is not a JSON object; an empty one is nothing at all.
    pub(super) fn emit_unreadable(&mut self, line: &str) {
        self.at = None;
        let line = line.trim();
        match (line.is_empty(), RawJson::parse(line)) {
            (true, _) => {}
            (false, Some(raw)) => {
                self.emit(EventPayload::Unknown { kind: "not-an-object".into(), raw })
            }
            (false, None) => {
                let raw = RawJson::string(truncate(line));
                self.emit(EventPayload::Unknown { kind: "not-json".into(), raw });
            }
        }
    }

    /// What the agent is doing, if nothing but its calls is to be looked at.
    pub(super) fn state(&self) -> AgentState {
        match self.phase {
            EmitterPhase::NotStarted => AgentState::Idle,
            EmitterPhase::Ended => AgentState::Complete,
            EmitterPhase::Running => match self.calls.waiting() {
                calls if calls.is_empty() => AgentState::Streaming,
                calls => AgentState::Waiting { calls },
            },
        }
    }

    pub(super) fn take_events(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.emitted)
    }
}

/// The end of a run that did not come to its own.
pub(super) fn unfinished_end(exit: AgentExit) -> RunEnd {
    let (outcome, code, message) = match exit {
        AgentExit::Eof | AgentExit::Code(0) => (
            Outcome::Interrupted,
            "stream-ended",
            "the agent's stream ended before the run did".into(),
        ),
        // A shell says it this way: 128 and the signal.
        AgentExit::Code(code @ 129..=165) => killed_by(code - 128),
        AgentExit::Signal(signal) => killed_by(signal),
        AgentExit::Code(code) => {
            let message = format!("the agent left with exit code {code} before the run ended");
            (Outcome::Failed, "exit", message)
        }
    };
    let problem = RunProblem { message, code: Some(code.into()), fatal: true };
    RunEnd { outcome: Some(outcome), problem: Some(problem), ..RunEnd::default() }
}

fn killed_by(signal: i32) -> (Outcome, &'static str, String) {
    let message = format!("the agent was killed by signal {signal} before the run ended");
    (Outcome::Interrupted, "killed", message)
}

/// As much of a text as is kept.
fn truncate(text: &str) -> &str {
    let end =
        (0..=MAX_UNREADABLE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
