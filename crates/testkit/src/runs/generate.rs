//! Generates sessions: runs, turns, texts, and all other events except those of calls.

use foxwedge_run::{
    ActivityCard, EventPayload, Outcome, RawJson, RunEnd, RunEvent, RunProblem, RunStart, RunUsage,
    SharedId, StopRequest, TaskItem, TaskStatus, TextUpdate, ToolsAvailable, TurnStart,
};

use super::calls;
use crate::Random;

/// A session of one to three runs in true order: no event has a position, nothing is damaged. Some
/// runs follow each other, some overlap; most of them end.
pub fn story(random: &mut Random) -> Vec<RunEvent> {
    let count = 1 + random.below(3);
    let with_epochs = random.chance(60);
    let ids = *random.pick(&[
        ["run-a", "run-b", "run-c"],
        ["run-1763000000000-x1", "run-1763000000001-x2", "run-1763000000002-x3"],
        ["läuft 1", "läuft \u{1f600}", "\"3\""],
    ]);
    let mut events: Vec<RunEvent> = Vec::new();
    for (place, id) in ids.into_iter().take(count).enumerate() {
        let epoch = with_epochs.then_some(1 + 2 * place as u64);
        let run = run(random, SharedId::from(id), epoch);
        events = if random.chance(45) {
            calls::merged(random, vec![events, run])
        } else {
            [events, run].concat()
        };
    }
    events
}

/// The state while the events of a run are generated.
pub(super) struct RunGenerator<'r> {
    pub(super) random: &'r mut Random,
    pub(super) run: SharedId,
    pub(super) turn: u32,
    /// Number of calls so far.
    pub(super) calls: u32,
    pub(super) habit: CallIdHabit,
    epoch: Option<u64>,
    at: Option<u64>,
    messages: bool,
}

/// How a source assigns call ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallIdHabit {
    /// Every call has its own id.
    Unique,
    /// The same ids in every turn, and events name the turn.
    AgainWithTurn,
    /// The same ids in every turn.
    Again,
    /// No ids.
    Nameless,
    /// A mixture of these.
    Mixed,
}

impl RunGenerator<'_> {
    pub(super) fn event(&mut self, body: EventPayload) -> RunEvent {
        if let Some(at) = &mut self.at {
            *at += self.random.below(50) as u64;
        }
        RunEvent { epoch: self.epoch, at: self.at, ..RunEvent::new(&self.run, body) }
    }

    /// A short text; sometimes empty, sometimes unusual.
    pub(super) fn words(&mut self) -> String {
        const WORDS: [&str; 12] = [
            "I ",
            "look ",
            "at ",
            "the ",
            "file.\n",
            "Ünï ",
            "\u{1f600}",
            "\u{1f468}\u{200d}\u{1f469}",
            "  ",
            "\\",
            "\"",
            "{",
        ];
        let count = self.random.below(6);
        (0..count).map(|_| *self.random.pick(&WORDS)).collect()
    }

    /// The id of the message; sometimes one that looks like a generated id.
    fn message(&mut self) -> Option<SharedId> {
        let odd = *self.random.pick(&["part-1", "thought-msg-1", "msg-1~2"]);
        let id = if self.random.chance(6) { odd.to_owned() } else { format!("msg-{}", self.turn) };
        self.messages.then(|| SharedId::from(id))
    }

    /// A text or reasoning in deltas, with or without the complete text at the end.
    fn text(
        &mut self,
        body: fn(TextUpdate) -> EventPayload,
        parent: Option<SharedId>,
    ) -> Vec<RunEvent> {
        let message = match &parent {
            Some(parent) => self.random.chance(70).then(|| SharedId::from(format!("sub-{parent}"))),
            None => self.message(),
        };
        let about = TextUpdate { message, parent, delta: None, full: None };
        let mut all = String::new();
        let mut events = Vec::new();
        for _ in 0..self.random.below(4) {
            let delta = self.words();
            all.push_str(&delta);
            let text = TextUpdate { delta: Some(delta), ..about.clone() };
            events.push(self.event(body(text)));
        }
        if self.random.chance(50) {
            let full = if self.random.chance(80) { all } else { self.words() };
            events.push(self.event(body(TextUpdate { full: Some(full), ..about })));
        }
        events
    }

    /// One turn: a message with reasoning, texts, calls and other events.
    fn one_turn(&mut self) -> Vec<RunEvent> {
        self.turn += 1;
        let mut events = Vec::new();
        if self.random.chance(90) {
            let turn = self.random.chance(60).then_some(self.turn);
            let message = self.message();
            events.push(self.event(EventPayload::TurnStarted(TurnStart { turn, message })));
        }
        if self.random.chance(40) {
            events.extend(self.text(EventPayload::Thought, None));
        }
        if self.random.chance(70) {
            events.extend(self.text(EventPayload::Text, None));
        }
        let mut calls = calls::calls(self);
        let parent = calls.iter().flatten().find_map(|event| match &event.body {
            EventPayload::ToolCall(call) => call.call.id.clone(),
            _ => None,
        });
        if let (Some(parent), true) = (parent, self.random.chance(15)) {
            calls.push(self.text(EventPayload::Text, Some(parent)));
        }
        events.extend(calls::merged(self.random, calls));
        for _ in 0..self.random.below(3) {
            let aside = self.aside();
            let at = self.random.below(events.len() + 1);
            events.insert(at, aside);
        }
        events
    }

    fn aside(&mut self) -> RunEvent {
        let body = match self.random.below(7) {
            0..=2 => EventPayload::Tasks(self.tasks()),
            3 => EventPayload::Usage(self.usage()),
            4 => EventPayload::Activity(ActivityCard {
                kind: SharedId::from("compaction"),
                id: self.random.chance(50).then(|| SharedId::from("card-1")),
                content: json(r#"{"messages":12,"why":"full"}"#),
            }),
            5 => EventPayload::Problem(RunProblem {
                message: "overloaded, once more".to_owned(),
                code: self.random.chance(50).then(|| SharedId::from("overloaded")),
                fatal: false,
            }),
            _ => EventPayload::Unknown {
                kind: "agent:mode".to_owned(),
                raw: json(r#"{"type":"agent:mode","mode":"plan"}"#),
            },
        };
        self.event(body)
    }

    fn tasks(&mut self) -> Vec<TaskItem> {
        const ALL: [TaskStatus; 5] = [
            TaskStatus::Unknown,
            TaskStatus::Pending,
            TaskStatus::InProgress,
            TaskStatus::Completed,
            TaskStatus::Paused,
        ];
        let count = self.random.below(4);
        let task = |number: usize| TaskItem {
            id: self.random.chance(50).then(|| SharedId::from(format!("task-{number}"))),
            content: format!("task {number}"),
            status: *self.random.pick(&ALL),
            active: self.random.chance(50).then(|| format!("doing task {number}")),
        };
        (0..count).map(task).collect()
    }

    fn usage(&mut self) -> RunUsage {
        let mut tokens = || self.random.below(1_000) as u64;
        RunUsage { input: tokens(), output: tokens(), cached: tokens(), reasoning: tokens() }
    }

    fn end(&mut self) -> Vec<RunEvent> {
        let ended = |generator: &mut Self, outcome: Option<Outcome>| {
            let ended = RunEnd {
                outcome,
                text: generator.random.chance(50).then(|| generator.words()),
                problem: generator.random.chance(20).then(|| RunProblem {
                    message: "the provider is gone".to_owned(),
                    code: None,
                    fatal: true,
                }),
                usage: generator.random.chance(40).then(|| generator.usage()),
            };
            generator.event(EventPayload::Ended(ended))
        };
        let stop = |generator: &mut Self| {
            let grace = *generator.random.pick(&[0, 0, 100, 2_000]);
            generator.event(EventPayload::Stop(StopRequest { grace }))
        };
        let fatal = |generator: &mut Self| {
            let message = "the key is not valid".to_owned();
            let code = generator.random.chance(50).then(|| SharedId::from("authentication"));
            generator.event(EventPayload::Problem(RunProblem { message, code, fatal: true }))
        };
        match self.random.below(12) {
            0..=3 => vec![ended(self, Some(Outcome::Completed))],
            4 => vec![ended(self, None)],
            5 => {
                let outcome = *self.random.pick(&Outcome::ALL);
                vec![ended(self, Some(outcome))]
            }
            6 => vec![stop(self)],
            7 => vec![stop(self), ended(self, Some(Outcome::Completed))],
            8 => vec![fatal(self), ended(self, Some(Outcome::Failed))],
            9 => vec![self.event(EventPayload::TimedOut { call: None })],
            10 => vec![stop(self), fatal(self), stop(self)],
            _ => Vec::new(),
        }
    }
}

fn run(random: &mut Random, run: SharedId, epoch: Option<u64>) -> Vec<RunEvent> {
    let habit = *random.pick(&[
        CallIdHabit::Unique,
        CallIdHabit::Unique,
        CallIdHabit::AgainWithTurn,
        CallIdHabit::Again,
        CallIdHabit::Nameless,
        CallIdHabit::Mixed,
    ]);
    let at = random.chance(50).then_some(1_763_000_000_000);
    let messages = random.chance(70);
    let mut generator = RunGenerator { random, run, turn: 0, calls: 0, habit, epoch, at, messages };
    let mut events = vec![generator.event(EventPayload::Started(RunStart {
        session: Some(SharedId::from("session-1")),
        parent: None,
        agent: Some(SharedId::from("claude-code")),
        model: None,
    }))];
    if generator.random.chance(50) {
        let tools = ["Bash", "Read", "Task", "AskUserQuestion"].map(SharedId::from);
        for version in 1..=1 + generator.random.below(2) {
            let tools = tools.iter().take(1 + version).cloned().collect();
            let available =
                ToolsAvailable { version: Some(version as u64), ready: version > 1, tools };
            events.push(generator.event(EventPayload::ToolsAvailable(available)));
        }
    }
    for _ in 0..1 + generator.random.below(3) {
        events.extend(generator.one_turn());
    }
    let end = generator.end();
    events.extend(end);
    // Some sources send events after the end.
    if generator.random.chance(20) {
        events.extend(generator.one_turn());
    }
    events
}

pub(super) fn json(text: &str) -> RawJson {
    RawJson::parse(text).expect("valid JSON")
}
