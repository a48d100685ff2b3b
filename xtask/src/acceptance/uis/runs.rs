//! Runs: lists of changes, event logs that the machine reads, and random ones of both.

use std::{collections::HashMap, fs, path::Path, rc::Rc};

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEvent, SessionMachine,
    SharedId, ToolStatus, UiChange, wire,
};
use foxwedge_testkit::runs::{Given, log};

use crate::workspace;

/// The runs of the encoders' own tests.
#[path = "../../../../crates/run/src/encode/tests/scenes.rs"]
mod scenes;
#[path = "../../../../crates/run/src/encode/tests/random.rs"]
mod random;

/// What those tests call the crate that they belong to.
mod run {
    pub(crate) use foxwedge_run::*;
}

/// A run, as an encoder gets it.
pub(super) struct UiRun {
    pub(super) name: String,
    pub(super) kind: RunKind,
    pub(super) id: SharedId,
    /// Also those of other runs in its session.
    pub(super) effects: Rc<Vec<RunEffect>>,
    /// What a client must understand of it, if that is known.
    pub(super) expected: Option<RunFacts>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RunKind {
    /// A list of changes.
    Changes,
    /// An event log, through the machine.
    Log,
    /// Changes in any order.
    Random,
    /// A random log with gaps and repeats, through the machine.
    RandomLog,
}

/// What happened in a run.
pub(super) struct RunFacts {
    pub(super) outcome: Outcome,
    /// The text of the run itself.
    pub(super) text: String,
    /// The calls and how they ended; none for one that still waits.
    pub(super) calls: Vec<(String, Option<ToolStatus>)>,
}

/// The name of every run here.
const NAME: &str = "r";

/// All of them, and so many random ones of each kind.
pub(super) fn all(random: u64) -> Result<Vec<UiRun>, String> {
    let mut runs: Vec<UiRun> = scenes::all().into_iter().map(of_scene).collect();
    for path in workspace::sorted_entries(&workspace::root().join("acceptance/ui/runs"))? {
        runs.extend(of_log(&path)?);
    }
    runs.extend((0..random).map(of_changes));
    runs.extend((0..random).flat_map(of_random_log));
    Ok(runs)
}

fn of_scene(scene: scenes::Scene) -> UiRun {
    let (outcome, text, calls) = (scene.outcome, scene.text.to_owned(), scene.calls);
    UiRun {
        name: scene.name.to_owned(),
        kind: RunKind::Changes,
        id: SharedId::from(NAME),
        effects: Rc::new(shown(&scene.changes)),
        expected: Some(RunFacts { outcome, text, calls }),
    }
}

fn of_changes(seed: u64) -> UiRun {
    UiRun {
        name: format!("random-{seed}"),
        kind: RunKind::Random,
        id: SharedId::from(NAME),
        effects: Rc::new(shown(&random::changes(seed))),
        expected: None,
    }
}

/// Each change as if an event of its own had made it.
fn shown(changes: &[UiChange]) -> Vec<RunEffect> {
    let run = SharedId::from(NAME);
    let mut effects = Vec::new();
    for (seq, change) in (1..).zip(changes) {
        let mut event = RunEvent::new(&run, EventPayload::Tasks(Vec::new()));
        event.seq = Some(seq);
        effects.push(RunEffect::Emit(event));
        effects.push(RunEffect::Show { run: run.clone(), change: change.clone() });
    }
    effects
}

fn of_log(path: &Path) -> Result<Vec<UiRun>, String> {
    let complain = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| complain(&error))?;
    let mut session = SessionMachine::new(MachineSettings::default());
    let mut effects = Vec::new();
    for (now, line) in (0..).zip(text.lines()) {
        let event = wire::read(line).map_err(|error| complain(&error))?;
        session.apply(now, MachineInput::Event(event), &mut effects);
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let runs = of_session(&name, RunKind::Log, session, effects);
    if runs.is_empty() { Err(complain(&"no run ends")) } else { Ok(runs) }
}

fn of_random_log(seed: u64) -> Vec<UiRun> {
    let log = log(seed);
    let mut session = SessionMachine::new(log.settings);
    let mut effects = Vec::new();
    for step in log.steps {
        let input = match step.given {
            Given::Line(line) => match wire::read(&line) {
                Ok(event) => MachineInput::Event(event),
                Err(_) => continue,
            },
            Given::Tick => MachineInput::Tick,
            Given::Answer(_) => continue,
        };
        session.apply(step.now, input, &mut effects);
    }
    of_session(&format!("story-{seed}"), RunKind::RandomLog, session, effects)
}

/// The runs of a session that came to their end, and what the machine knows of them.
fn of_session(
    name: &str,
    kind: RunKind,
    mut session: SessionMachine,
    mut effects: Vec<RunEffect>,
) -> Vec<UiRun> {
    // Nobody waits any longer.
    while let Some(then) = session.deadline() {
        session.apply(then.saturating_add(1), MachineInput::Tick, &mut effects);
    }
    let effects = Rc::new(effects);
    let of_run = |run: &foxwedge_run::Run| {
        let outcome = run.outcome()?;
        Some(UiRun {
            name: format!("{name} {}", run.id()),
            kind,
            id: run.id().clone(),
            effects: Rc::clone(&effects),
            expected: Some(facts(run, outcome, &effects)),
        })
    };
    session.runs().iter().filter_map(of_run).collect()
}

/// The texts are those that were shown, the calls are those that the machine knows.
fn facts(run: &foxwedge_run::Run, outcome: Outcome, effects: &[RunEffect]) -> RunFacts {
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut times: HashMap<&str, u32> = HashMap::new();
    for effect in effects {
        let RunEffect::Show { run: owner, change } = effect else { continue };
        if owner != run.id() {
            continue;
        }
        match change {
            UiChange::TextDelta(part, delta) if part.parent.is_none() => text.push_str(delta),
            UiChange::ToolOpened { tool, .. } => {
                let times = times.entry(&tool.call).or_default();
                *times += 1;
                // A second call of the same id has a name of its own.
                let again = if *times > 1 { format!("~{times}") } else { String::new() };
                let known = run.tools().iter().find(|known| known.reference() == *tool);
                calls.push((format!("{}{again}", tool.call), known.map(|it| it.status())));
            }
            _ => {}
        }
    }
    RunFacts { outcome, text, calls }
}
