//! Runs: lists of changes, event logs that the machine reads, and random ones.

use std::{fs, path::Path};

use foxwedge_run::{
    Body, Change, Effect, Event, Id, Input, Outcome, Session, Settings, Status, TextKind, step,
    wire,
};

use super::scene;
use crate::workspace;

/// A run, as an encoder gets it.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) effects: Vec<Effect>,
    /// What a person must see of it, if that is known.
    pub(super) seen: Option<Seen>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// A list of changes.
    Changes,
    /// An event log, through the machine.
    Log,
    /// Changes in any order.
    Random,
}

/// What happened in a run.
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    /// What the run itself said.
    pub(super) text: String,
    /// The calls and how they ended; none for one that still waits.
    pub(super) calls: Vec<(String, Option<Status>)>,
}

/// The name of every run here.
const NAME: &str = "r";

/// All of them.
pub(super) fn all(random: u64) -> Result<Vec<Run>, String> {
    let mut runs: Vec<Run> = scene::all().into_iter().map(of_scene).collect();
    let folder = workspace::root().join("ui-acceptance").join("runs");
    let complain = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(&folder).map_err(complain)?;
    let paths: Result<Vec<_>, _> = entries.map(|it| it.map(|it| it.path())).collect();
    let mut paths = paths.map_err(complain)?;
    paths.sort();
    for path in paths {
        runs.push(of_log(&path)?);
    }
    runs.extend((0..random).map(|seed| Run {
        name: format!("random-{seed}"),
        kind: Kind::Random,
        effects: shown(&scene::changes(seed)),
        seen: None,
    }));
    Ok(runs)
}

fn of_scene(scene: scene::Scene) -> Run {
    let calls = scene.calls.iter().map(|(call, status)| ((*call).to_owned(), *status)).collect();
    let seen = Seen { outcome: scene.outcome, text: scene.text.to_owned(), calls };
    let effects = shown(&scene.changes);
    Run { name: scene.name.to_owned(), kind: Kind::Changes, effects, seen: Some(seen) }
}

/// Each change as if an event of its own had made it.
fn shown(changes: &[Change]) -> Vec<Effect> {
    let run = Id::from(NAME);
    let mut effects = Vec::new();
    for (seq, change) in (1..).zip(changes) {
        let mut event = Event::new(&run, Body::Tasks(Vec::new()));
        event.seq = Some(seq);
        effects.push(Effect::Emit(event));
        effects.push(Effect::Show { run: run.clone(), change: change.clone() });
    }
    effects
}

fn of_log(path: &Path) -> Result<Run, String> {
    let complain = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| complain(&error))?;
    let mut session = Session::new(Settings::default());
    let mut effects = Vec::new();
    for (now, line) in (0..).zip(text.lines()) {
        let event = wire::read(line).map_err(|error| complain(&error))?;
        let (next, done) = step(session, now, Input::Event(event));
        session = next;
        effects.extend(done);
    }
    let (session, done) = step(session, 1_000_000, Input::Tick);
    effects.extend(done);
    let run = session.run(NAME).ok_or_else(|| complain(&"the run never began"))?;
    let outcome = run.outcome().ok_or_else(|| complain(&"the run never ended"))?;
    let own = run.texts().iter().filter(|it| it.kind == TextKind::Text && it.parent.is_none());
    let text = own.map(|it| it.text.as_str()).collect();
    let mut calls: Vec<(String, Option<Status>)> = Vec::new();
    for tool in run.tools() {
        // A second call of the same id has a name of its own.
        let again = calls.iter().any(|(call, _)| **call == *tool.call);
        let name = format!("{}{}", tool.call, if again { "~2" } else { "" });
        calls.push((name, Some(tool.status())));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Run { name, kind: Kind::Log, effects, seen: Some(Seen { outcome, text, calls }) })
}
