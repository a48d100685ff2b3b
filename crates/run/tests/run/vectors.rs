//! The vectors in `fixtures/run`: what goes in, and what has to come out in every
//! implementation of the machine.
//!
//! A vector has `inputs` (an event, a line, an answer with where it goes, or nothing but the time),
//! the `truth` behind them, the runs that were `announced` with their outcomes, the codes of the
//! `warnings`, and sometimes what was `resolved` and the `counts` of a snapshot. `order` says in
//! which other orders the truth is the same; `replay` says that the log gives the same truth again.

mod orders;
mod told;

use std::{collections::BTreeSet, fs, path::Path};

use foxwedge_run::{
    AnswerRoute, ApprovalVerdict, CallRef, MachineInput, MachineLimits, MachineSettings, RawJson,
    RunEffect, SessionMachine, SharedId, UserAnswer, wire,
};
use serde_json::Value;

#[test]
fn every_vector_comes_out_as_it_should() {
    for vector in all() {
        let (session, told) = replayed(&vector, inputs(&vector));
        assert_eq!(session.canonical_state(), vector.says["truth"], "{}", vector.name());
        assert_eq!(told::announced(&told), vector.says["announced"], "{}", vector.name());
        assert_eq!(told::warnings(&told), vector.says["warnings"], "{}", vector.name());
        if vector.says.get("resolved").is_some() {
            assert_eq!(told::resolved(&told), vector.says["resolved"], "{}", vector.name());
        }
        if vector.says.get("counts").is_some() {
            assert_eq!(session.snapshot(), snapshot(&vector), "{}", vector.name());
        }
        told::laws(&session, &told, &vector.name());
    }
}

#[test]
fn other_orders_are_the_same_truth() {
    let mut tried = 0;
    for vector in all() {
        for order in orders::of(&vector.says["order"], inputs(&vector)) {
            let twice: Vec<&Value> = order.iter().chain(&order).copied().collect();
            let (session, told) = replayed(&vector, twice);
            assert_eq!(
                session.canonical_state(),
                vector.says["truth"],
                "{}: {order:?}",
                vector.name()
            );
            let announced = told::announced(&told);
            assert_eq!(announced, vector.says["announced"], "{}: {order:?}", vector.name());
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_log_is_the_same_run_again() {
    for vector in all().iter().filter(|vector| vector.says["replay"] == true) {
        let (_, told) = replayed(vector, inputs(vector));
        let log = told::emitted(&told);
        let mut again = SessionMachine::new(vector.settings());
        let mut effects = Vec::new();
        for line in &log {
            let event = wire::read(line).expect("our own line");
            again.apply(0, MachineInput::Event(event), &mut effects);
        }
        let told: Vec<Told> = effects.into_iter().map(Told::from).collect();
        assert_eq!(again.canonical_state(), vector.says["truth"], "{}", vector.name());
        assert_eq!(told::announced(&told), vector.says["announced"], "{}", vector.name());
        assert_eq!(told::emitted(&told), log, "{}", vector.name());
    }
}

#[test]
fn every_behaviour_and_every_defect_of_the_original_has_a_vector() {
    let vectors = all();
    let words = vectors.iter().filter_map(|vector| vector.says["name"].as_str());
    let named: BTreeSet<&str> = words.flat_map(|name| name.split(' ')).collect();
    let numbered = |head: &'static str, last: u32| (1..=last).map(move |at| format!("{head}{at}"));
    let needed = numbered("b3_", 18).chain(numbered("d", 9)).chain(numbered("acceptance_", 4));
    let missing: Vec<String> = needed.filter(|id| !named.contains(id.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

struct Vector {
    file: String,
    says: Value,
}

impl Vector {
    fn name(&self) -> String {
        format!("{}: {}", self.file, self.says["name"])
    }

    fn settings(&self) -> MachineSettings {
        let (says, usual) = (&self.says["settings"], MachineSettings::default());
        let number = |value: &Value| value.as_u64().map(|number| number as usize);
        MachineSettings {
            wait: says["wait"].as_u64().unwrap_or(usual.wait),
            interactive: match says["interactive"].as_array() {
                Some(names) => names.iter().filter_map(Value::as_str).map(SharedId::from).collect(),
                None => usual.interactive,
            },
            limits: MachineLimits {
                waiting: number(&says["limits"]["waiting"]).unwrap_or(usual.limits.waiting),
                runs: number(&says["limits"]["runs"]).unwrap_or(usual.limits.runs),
            },
        }
    }
}

/// What a machine, or the reader in front of it, told.
enum Told {
    Effect(Box<RunEffect>),
    /// A line was no event.
    Unreadable,
}

impl From<RunEffect> for Told {
    fn from(effect: RunEffect) -> Told {
        Told::Effect(Box::new(effect))
    }
}

fn all() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/run");
    let entries = fs::read_dir(&folder).expect("the vectors");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a text");
        let says = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        Vector { file, says }
    };
    paths.iter().map(read).collect()
}

fn inputs(vector: &Vector) -> Vec<&Value> {
    vector.says["inputs"].as_array().expect("inputs").iter().collect()
}

fn replayed(vector: &Vector, inputs: Vec<&Value>) -> (SessionMachine, Vec<Told>) {
    let mut session = SessionMachine::new(vector.settings());
    let mut told = Vec::new();
    for input in inputs {
        give(&mut session, input, &mut told, &vector.name());
    }
    (session, told)
}

fn give(session: &mut SessionMachine, input: &Value, told: &mut Vec<Told>, name: &str) {
    let now = input["now"].as_u64().expect("a time");
    let mut effects = Vec::new();
    let line = match (input.get("event"), &input["line"]) {
        (Some(event), _) => Some(event.to_string()),
        (None, line) => line.as_str().map(str::to_owned),
    };
    let mut is_unreadable = false;
    let given = match (&line, input.get("answer")) {
        (Some(line), _) => match wire::read(line) {
            Ok(event) => MachineInput::Event(event),
            Err(_) => {
                is_unreadable = true;
                MachineInput::Tick
            }
        },
        (None, Some(said)) => {
            let routed = session.route(&answer(said));
            let code = match &routed {
                Ok(AnswerRoute::Deliver(_)) => "deliver",
                Ok(AnswerRoute::Repeated) => "repeated",
                Err(error) => error.code(),
            };
            assert_eq!(input["routed"], code, "{name}: {input}");
            match routed {
                Ok(AnswerRoute::Deliver(event)) => MachineInput::Event(event),
                Ok(AnswerRoute::Repeated) | Err(_) => return,
            }
        }
        (None, None) => MachineInput::Tick,
    };
    session.apply(now, given, &mut effects);
    told.extend(effects.into_iter().map(Told::from));
    told.extend(is_unreadable.then_some(Told::Unreadable));
}

fn answer(said: &Value) -> UserAnswer {
    let id = |value: &Value| value.as_str().map(SharedId::from);
    let verdict = match said["verdict"].as_str() {
        Some("allowed") => ApprovalVerdict::Allowed,
        Some("denied") => ApprovalVerdict::Denied,
        Some("answered") => ApprovalVerdict::Answered,
        _ => ApprovalVerdict::Cancelled,
    };
    let turn = said["turn"].as_u64().and_then(|turn| u32::try_from(turn).ok());
    UserAnswer {
        run: id(&said["run"]),
        call: CallRef { id: id(&said["call"]), turn },
        id: id(&said["id"]),
        verdict,
        answer: said.get("answer").map(RawJson::from),
    }
}

/// The truth, with the counts beside it.
fn snapshot(vector: &Vector) -> Value {
    let (mut all, counts) = (vector.says["truth"].clone(), &vector.says["counts"]);
    all["waiting"] = counts["waiting"].clone();
    all["dropped"] = counts["dropped"].clone();
    for (at, run) in all["runs"].as_array_mut().into_iter().flatten().enumerate() {
        run["counts"] = counts["runs"][at].clone();
    }
    all
}
