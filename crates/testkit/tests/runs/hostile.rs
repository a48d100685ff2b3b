//! Sources that are broken, huge, or mean it. There is no panic, nothing grows without a limit,
//! and every run has one outcome.

use foxwedge_run::{
    CallRef, EventPayload, MachineInput, MachineSettings, Outcome, RawJson, RunEffect, RunEnd,
    RunEvent, RunPhase, RunWarning, SessionMachine, SharedId, TextUpdate,
};
use foxwedge_testkit::runs::laws::Watch;

use super::script::{bodies, log, source};

/// Many, where somebody means it.
const MANY: usize = 100_000;

/// A machine that somebody watches: everything it says is well formed.
struct Machine {
    session: SessionMachine,
    watch: Watch,
    warnings: Vec<RunWarning>,
    effects: Vec<RunEffect>,
}

impl Machine {
    fn new() -> Machine {
        Machine::with(MachineSettings::default())
    }

    fn with(settings: MachineSettings) -> Machine {
        let (session, watch) = (SessionMachine::new(settings), Watch::default());
        Machine { session, watch, warnings: Vec::new(), effects: Vec::new() }
    }

    fn give(&mut self, now: u64, input: MachineInput) {
        self.session.apply(now, input, &mut self.effects);
        if let Err(trouble) = self.watch.take(&self.effects) {
            panic!("{trouble}");
        }
        self.warnings.extend(self.effects.drain(..).filter_map(|effect| match effect {
            RunEffect::Warn(warning) => Some(warning),
            _ => None,
        }));
    }

    fn all(&mut self, events: impl IntoIterator<Item = RunEvent>) {
        for event in events {
            self.give(0, MachineInput::Event(event));
        }
    }

    /// Ends what is open, and looks whether everything is over, once.
    fn ends(&mut self) -> Option<Outcome> {
        let open: Vec<SharedId> = self.watch.open().cloned().collect();
        for run in open {
            let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
            self.give(0, MachineInput::Event(RunEvent::new(&run, EventPayload::Ended(ended))));
        }
        for run in self.session.runs() {
            assert!(matches!(run.phase(), RunPhase::Ended { .. }), "{} is open", run.id());
            assert_eq!(self.watch.announced(run.id()), 1, "{}", run.id());
            assert!(run.tools().iter().all(|tool| tool.status().is_final()), "{}", run.id());
        }
        self.session.active()?.outcome()
    }
}

/// Gives a run these events between its start and its end.
fn survives(bodies: impl IntoIterator<Item = EventPayload>) -> Machine {
    let run = SharedId::from("A");
    let mut machine = Machine::new();
    machine.all(source("A", "start"));
    machine.all(bodies.into_iter().map(|body| RunEvent::new(&run, body)));
    assert_eq!(machine.ends(), Some(Outcome::Interrupted));
    machine
}

#[test]
fn what_nobody_knows_keeps_its_place_and_changes_nothing() {
    let mut machine = Machine::new();
    machine.all(log("A", 1, "start; odd agent:mode x; odd x y; said m hi; odd z; end completed"));
    assert_eq!(machine.ends(), Some(Outcome::Completed));
    assert_eq!(machine.warnings.len(), 3, "{:?}", machine.warnings);
    let run = machine.session.active().expect("it has begun");
    assert_eq!((run.counts().accepted, run.texts().len(), run.tools().len()), (6, 1, 0));
}

#[test]
fn events_without_ids_find_a_place() {
    let kinds = "say - x; think - y; call -; args - {; progress - z; ok - x; error - y; off -; \
                 ask - -; allow - -; question - -; answer - - blue; silence -; denied -; card -";
    let kinds = bodies(kinds);
    // Every kind behind every other one.
    let pairs =
        kinds.iter().flat_map(|one| kinds.iter().flat_map(|other| [one.clone(), other.clone()]));
    survives(pairs);
}

#[test]
fn empty_ids_are_none() {
    let empty = || Some(SharedId::from(""));
    let mut told = bodies("call a; ask a r1; ok a; turn; said m hi");
    for body in &mut told {
        match body {
            EventPayload::ToolCall(call) => call.call.id = empty(),
            EventPayload::ApprovalRequested(ask) => (ask.call.id, ask.id) = (empty(), empty()),
            EventPayload::ToolResult(result) => result.call.id = empty(),
            EventPayload::TurnStarted(turn) => turn.message = empty(),
            EventPayload::Text(text) => (text.message, text.parent) = (empty(), None),
            _ => {}
        }
    }
    let machine = survives(told);
    let run = machine.session.active().expect("it has begun");
    assert_eq!(run.tools().len(), 1);
    assert_eq!(&*run.tools()[0].call, "local-A-1");
    // A run without a name is a run.
    let mut machine = Machine::new();
    machine.all(source("", "start; call a; stop"));
    assert_eq!(machine.ends(), Some(Outcome::Stopped));
}

#[test]
fn a_megabyte_is_only_long() {
    let long = "ä".repeat(1 << 19);
    let json = RawJson::string(&long);
    let mut told = bodies(
        "call a; args b {; progress a x; ok a x; ask b r1; answer b r1 x; say m x; said m x; \
         card k x; odd k x; problem x; tools 1 x",
    );
    for body in &mut told {
        match body {
            EventPayload::ToolCall(call) => {
                (call.input, call.title) = (Some(json.clone()), Some(long.clone()))
            }
            EventPayload::ToolArguments { delta, .. } => delta.clone_from(&long),
            EventPayload::ToolProgress { content, .. } => *content = json.clone(),
            EventPayload::ToolResult(result) => result.content = Some(json.clone()),
            EventPayload::ApprovalRequested(ask) => {
                (ask.prompt, ask.choices) = (Some(long.clone()), Some(json.clone()))
            }
            EventPayload::ApprovalReplied(reply) => reply.answer = Some(json.clone()),
            EventPayload::Text(
                TextUpdate { delta: Some(text), .. } | TextUpdate { full: Some(text), .. },
            ) => {
                text.clone_from(&long);
            }
            EventPayload::Activity(activity) => activity.content = json.clone(),
            EventPayload::Unknown { raw, kind } => (*raw, *kind) = (json.clone(), long.clone()),
            EventPayload::Problem(problem) => problem.message.clone_from(&long),
            EventPayload::ToolsAvailable(tools) => tools.tools.push(SharedId::from(long.as_str())),
            _ => {}
        }
    }
    // Names may be long, too.
    let which = CallRef { id: Some(SharedId::from(long.as_str())), turn: None };
    told.push(EventPayload::ToolCancelled { call: which });
    let machine = survives(told);
    let run = machine.session.active().expect("it has begun");
    assert_eq!(run.tools().len(), 3);
}

#[test]
fn a_hundred_thousand_events_are_only_many() {
    let short = |script: &str| bodies(script).into_iter().cycle().take(MANY).collect::<Vec<_>>();
    let numbered = |script: &str| {
        let each = script.split(';').count();
        let told =
            (0..MANY / each).flat_map(|number| bodies(&script.replace('#', &number.to_string())));
        told.collect::<Vec<_>>()
    };
    let table = [
        short("say m x"),
        short("say - x; think - y"),
        short("say m x; think m y"),
        short("call a as=running; ok a x"),
        short("call - as=running; ok - x"),
        short("args a x"),
        short("progress a x"),
        short("turn"),
        short("usage 7; tasks a=in_progress; card k x; problem p; tools 3 a b"),
        numbered("call c#; ok c# x"),
        numbered("ok c# x; call c#"),
        numbered("said m# x"),
        numbered("turn; call c; ok c x"),
        numbered("turn; call c; call -"),
        numbered("call c#@#; ok c#@# x"),
        numbered("off c#"),
        numbered("allow c# r#; ask c# r#"),
    ];
    for told in table {
        let machine = survives(told);
        let counts = machine.session.active().expect("it has begun").counts();
        assert!(counts.accepted + counts.repeated >= MANY as u64, "{counts:?}");
    }
}

#[test]
fn one_call_may_ask_often_and_one_id_may_come_in_every_turn() {
    let asks = (0..5_000).flat_map(|number| bodies(&format!("ask a r{number}; allow a r{number}")));
    survives(asks);
    let calls = (0..20_000).flat_map(|turn| bodies(&format!("call c@{turn}")));
    let results = (0..20_000).flat_map(|turn| bodies(&format!("ok c@{turn} x")));
    let machine = survives(calls.chain(results));
    assert_eq!(machine.session.active().expect("it has begun").tools().len(), 20_000);
}

#[test]
fn ten_thousand_runs_leave_room() {
    for script in ["start", "start; call a as=running", "start; said m x; end", "start; stop 9999"]
    {
        let mut machine = Machine::new();
        for number in 0..10_000 {
            machine.all(source(&format!("run-{number}"), script));
        }
        assert!(machine.session.runs().len() <= MachineSettings::default().limits.runs);
        machine.ends();
        assert_eq!(machine.session.epoch(), 10_000);
        assert_eq!(machine.watch.open().count(), 0, "{script}");
    }
}

#[test]
fn events_of_runs_that_never_begin_do_not_fill_the_room() {
    let mut settings = MachineSettings::default();
    settings.limits.waiting = 1_000;
    // All of one run, and each of another.
    for runs in [1, MANY] {
        let mut machine = Machine::with(settings.clone());
        machine.all(source("A", "start"));
        for number in 0..MANY {
            machine.all(source(&format!("ghost-{}", number % runs), "say m x"));
        }
        let told = machine.session.snapshot();
        assert_eq!((&told["waiting"], &told["dropped"]), (&1_000.into(), &(MANY - 1_000).into()));
        machine.give(5_000, MachineInput::Tick);
        assert_eq!(machine.session.snapshot()["waiting"], 0);
        if runs == 1 {
            assert_eq!(machine.warnings.len(), 1, "{:?}", machine.warnings);
        }
    }
    // Starts of others, while the room is full.
    let mut machine = Machine::new();
    machine.all((0..10_000).flat_map(|_| source("ghost", "say m x")));
    machine.all((0..10_000).flat_map(|number| source(&format!("run-{number}"), "start; end")));
    assert_eq!(machine.session.snapshot()["waiting"], 10_000);
}

#[test]
fn gaps_do_not_fill_the_room() {
    let settings = MachineSettings::default();
    let mut machine = Machine::new();
    machine.all(log("A", 1, "start"));
    let text = &log("A", 1, "say m x")[0];
    machine.all((1..=50_000).map(|number| RunEvent { seq: Some(2 * number + 1), ..text.clone() }));
    let run = machine.session.active().expect("it has begun");
    let waiting = 50_001 - run.counts().accepted as usize;
    assert!(waiting <= settings.limits.waiting + 1, "{waiting}");
    // Backwards, all of them wait for the first.
    let mut machine = Machine::new();
    machine.all(log("A", 1, "start"));
    machine.all((2..50_000).rev().map(|seq| RunEvent { seq: Some(seq), ..text.clone() }));
    machine.ends();
}

#[test]
fn the_largest_numbers_are_only_large() {
    let text = &log("A", 1, "say m x")[0];
    let start = &log("A", 1, "start")[0];
    let numbers = [0, 1, 2, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    for first in numbers {
        for second in numbers {
            for epoch in numbers {
                let mut machine = Machine::new();
                let placed = |event: &RunEvent, seq| RunEvent {
                    seq: Some(seq),
                    epoch: Some(epoch),
                    ..event.clone()
                };
                machine.all([placed(start, first), placed(text, second), placed(text, second)]);
                machine.all([placed(text, u64::MAX), placed(text, 0)]);
                machine.all(source("A", "call a; stop 18446744073709551615"));
                machine.give(u64::MAX, MachineInput::Tick);
                machine.all(source("B", "start; stop"));
                machine.give(0, MachineInput::Tick);
                machine.give(u64::MAX, MachineInput::Tick);
                machine.ends();
            }
        }
    }
    survives(bodies(
        "turn 4294967295; turn; call a@4294967295; call -; ok -; usage 18446744073709551615",
    ));
}

#[test]
fn clocks_may_jump() {
    let mut machine = Machine::new();
    let times = [5_000, 0, u64::MAX, 17, 17, 1_763_000_000_000, 3, u64::MAX, 0];
    let told = source("A", "start; call a as=running; stop 500; say m x; ok a x; end; say m y");
    for (now, event) in times.into_iter().zip(told) {
        machine.give(now, MachineInput::Event(event));
        machine.give(now.wrapping_mul(31), MachineInput::Tick);
    }
    assert_eq!(machine.ends(), Some(Outcome::Stopped));
    // What waits for two seconds waits for two seconds, whatever the clock was before.
    let mut machine = Machine::new();
    machine.give(9_000_000, MachineInput::Event(source("A", "say m x").remove(0)));
    machine.give(1, MachineInput::Tick);
    machine.give(1_999, MachineInput::Tick);
    assert_eq!(machine.session.snapshot()["waiting"], 1);
    assert_eq!(machine.session.deadline(), Some(2_001));
    machine.give(2_001, MachineInput::Tick);
    assert_eq!(machine.session.snapshot()["waiting"], 0);
    assert_eq!(machine.session.deadline(), None);
}

#[test]
fn families_may_be_deep_wide_and_their_own_ancestors() {
    let deep = (1..50_000).flat_map(|child| bodies(&format!("call c{child} of=c{}", child - 1)));
    let machine = survives(bodies("call c0").into_iter().chain(deep).chain(bodies("off c0")));
    let called_off = machine.session.active().expect("it has begun").tools().len();
    assert_eq!(called_off, 50_000);
    let wide = (0..MANY).flat_map(|child| bodies(&format!("call c{child} of=p as=running")));
    survives(bodies("call p").into_iter().chain(wide).chain(bodies("off p")));
    // The parent comes last, and was called off before.
    let wide = (0..MANY).flat_map(|child| bodies(&format!("call c{child} of=p as=running")));
    survives(bodies("off p").into_iter().chain(wide).chain(bodies("call p")));
    for script in [
        "call a of=a; off a",
        "call a of=b; call b of=a; off b",
        "off a; call b of=a; call a of=b",
        "call a of=b; call b of=c; call c of=a; denied b; ok a x",
        "call - of=a; call a; call - of=local-A-1; off a",
    ] {
        survives(bodies(script));
    }
}
