//! Emits the events of a run, including its start and end.

use crate::{
    EventPayload, Outcome, RawJson, RunEnd, RunEvent, RunProblem, RunStart, SharedId,
    follow::{AgentExit, AgentState, calls::StreamCalls},
};

/// Maximum number of events before the run starts.
const MAX_EARLY_EVENTS: usize = 256;

/// Bytes that are kept of an unreadable line.
const MAX_UNREADABLE_BYTES: usize = 4096;

/// The phase of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EmitterPhase {
    /// It has not started.
    NotStarted,
    /// It is running.
    Running,
    /// It has ended.
    Ended,
}

/// The current run, and the events since the last call of `take_events`.
pub(super) struct RunEmitter {
    /// The time of the line, if it has one.
    pub(super) at: Option<u64>,
    /// What is known when the run starts.
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

    /// An emitter for events of a log: it starts and ends nothing itself.
    pub(super) fn for_log(run: SharedId) -> RunEmitter {
        RunEmitter { phase: EmitterPhase::Running, ..RunEmitter::new(run, "foxwedge") }
    }

    pub(super) fn phase(&self) -> EmitterPhase {
        self.phase
    }

    /// Emits an event. Events before the start of the run are held back.
    pub(super) fn emit(&mut self, body: EventPayload) {
        self.emit_event(RunEvent { at: self.at, ..RunEvent::new(&self.run, body) });
    }

    /// Emits an event with a value that we do not know.
    pub(super) fn emit_with_unknown(&mut self, body: EventPayload, unknown_word: Option<SharedId>) {
        self.emit_event(RunEvent { at: self.at, unknown_word, ..RunEvent::new(&self.run, body) });
    }

    /// Emits an event unchanged.
    pub(super) fn emit_event(&mut self, event: RunEvent) {
        match self.phase {
            EmitterPhase::NotStarted => self.early.push(event),
            EmitterPhase::Running | EmitterPhase::Ended => self.emitted.push(event),
        }
        if self.early.len() >= MAX_EARLY_EVENTS {
            self.begin();
        }
    }

    /// Starts the run, unless it has started, and emits the events that were held back.
    pub(super) fn begin(&mut self) {
        if self.phase == EmitterPhase::NotStarted {
            self.phase = EmitterPhase::Running;
            let started = EventPayload::Started(self.start.clone());
            self.emitted.push(RunEvent { at: self.at, ..RunEvent::new(&self.run, started) });
            self.emitted.append(&mut self.early);
        }
    }

    /// Ends the run, unless it has ended.
    pub(super) fn end(&mut self, ended: RunEnd, unknown_word: Option<SharedId>) {
        if self.phase != EmitterPhase::Ended {
            self.begin();
            self.emit_with_unknown(EventPayload::Ended(ended), unknown_word);
            self.phase = EmitterPhase::Ended;
        }
    }

    /// Switches to the next run, which has not started.
    pub(super) fn start_next_run(&mut self) {
        self.number = self.number.saturating_add(1);
        let name = || format!("{}-{}", self.base_id, self.number).into();
        self.run = self.next_id.take().unwrap_or_else(name);
        self.phase = EmitterPhase::NotStarted;
        self.calls = StreamCalls::default();
        self.turn = 0;
    }

    /// Sets the id of the next run.
    pub(super) fn name_next(&mut self, run: SharedId) {
        match self.phase {
            EmitterPhase::NotStarted => {
                self.early.iter_mut().for_each(|event| event.run = run.clone());
                self.run = run;
            }
            EmitterPhase::Running | EmitterPhase::Ended => self.next_id = Some(run),
        }
    }

    /// Emits a line, or a part of it, of unknown kind.
    pub(super) fn emit_unknown(&mut self, kind: impl Into<String>, raw: &str) {
        let raw = RawJson::parse(raw).unwrap_or_else(|| RawJson::string(truncate(raw)));
        self.emit(EventPayload::Unknown { kind: kind.into(), raw });
    }

    /// Emits a line that is not a JSON object; an empty line is ignored.
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

    /// What the agent is doing, judged by its calls only.
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

/// The end of a run that the agent did not end itself.
pub(super) fn unfinished_end(exit: AgentExit) -> RunEnd {
    let (outcome, code, message) = match exit {
        AgentExit::Eof | AgentExit::Code(0) => (
            Outcome::Interrupted,
            "stream-ended",
            "the output of the agent ended before the run ended".into(),
        ),
        // Shell convention: 128 plus the signal.
        AgentExit::Code(code @ 129..=165) => killed_by(code - 128),
        AgentExit::Signal(signal) => killed_by(signal),
        AgentExit::Code(code) => {
            let message = format!("the agent exited with code {code} before the run ended");
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

/// Truncates a text to the bytes that are kept.
fn truncate(text: &str) -> &str {
    let end =
        (0..=MAX_UNREADABLE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
