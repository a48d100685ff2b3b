//! The test vectors in `fixtures/run`: inputs and the expected results for every implementation of
//! the machine.
//!
//! A vector has `inputs` (an event, a line, an answer with its expected route, or only a time), the
//! resulting state (`truth`), the runs that were `announced` with their outcomes, the codes of the
//! `warnings`, and sometimes the `resolved` requests and the `counts` of a snapshot. `order` lists
//! other orders that must give the same state. `replay` means that the log must give the same state
//! again.

mod orders;
mod told;

use std::{collections::BTreeSet, fs, path::Path};

use foxwedge_run::{
    AnswerRoute, ApprovalVerdict, CallRef, MachineInput, MachineLimits, MachineSettings, RawJson,
    RunEffect, SessionMachine, SharedId, UserAnswer, wire,
};
use serde_json::Value;

#[test]
fn every_vector_gives_the_expected_state() {
    for vector in all() {
        let (session, outputs) = replayed(&vector, inputs(&vector));
        assert_eq!(session.canonical_state(), vector.says["truth"], "{}", vector.name());
        assert_eq!(told::announced(&outputs), vector.says["announced"], "{}", vector.name());
        assert_eq!(told::warnings(&outputs), vector.says["warnings"], "{}", vector.name());
        if vector.says.get("resolved").is_some() {
            assert_eq!(told::resolved(&outputs), vector.says["resolved"], "{}", vector.name());
        }
        if vector.says.get("counts").is_some() {
            assert_eq!(session.snapshot(), snapshot(&vector), "{}", vector.name());
        }
        told::laws(&session, &outputs, &vector.name());
    }
}

#[test]
fn other_orders_give_the_same_state() {
    let mut tried = 0;
    for vector in all() {
        for order in orders::of(&vector.says["order"], inputs(&vector)) {
            let twice: Vec<&Value> = order.iter().chain(&order).copied().collect();
            let (session, outputs) = replayed(&vector, twice);
            assert_eq!(
                session.canonical_state(),
                vector.says["truth"],
                "{}: {order:?}",
                vector.name()
            );
            let announced = told::announced(&outputs);
            assert_eq!(announced, vector.says["announced"], "{}: {order:?}", vector.name());
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn replayed_log_gives_the_same_run() {
    for vector in all().iter().filter(|vector| vector.says["replay"] == true) {
        let (_, outputs) = replayed(vector, inputs(vector));
        let log = told::emitted(&outputs);
        let mut session = SessionMachine::new(vector.settings());
        let mut effects = Vec::new();
        for line in &log {
            let event = wire::read(line).expect("our own line");
            session.apply(0, MachineInput::Event(event), &mut effects);
        }
        let outputs: Vec<Told> = effects.into_iter().map(Told::from).collect();
        assert_eq!(session.canonical_state(), vector.says["truth"], "{}", vector.name());
        assert_eq!(told::announced(&outputs), vector.says["announced"], "{}", vector.name());
        assert_eq!(told::emitted(&outputs), log, "{}", vector.name());
    }
}

#[test]
fn every_behavior_and_every_defect_of_the_original_has_a_vector() {
    let vectors = all();
    let names = vectors.iter().filter_map(|vector| vector.says["name"].as_str());
    let covered: BTreeSet<&str> = names.flat_map(|name| name.split(' ')).collect();
    let numbered = |head: &'static str, last: u32| (1..=last).map(move |at| format!("{head}{at}"));
    let required = numbered("b3_", 18).chain(numbered("d", 9)).chain(numbered("acceptance_", 4));
    let missing: Vec<String> = required.filter(|id| !covered.contains(id.as_str())).collect();
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
        let (settings, defaults) = (&self.says["settings"], MachineSettings::default());
        let number = |value: &Value| value.as_u64().map(|number| number as usize);
        MachineSettings {
            wait: settings["wait"].as_u64().unwrap_or(defaults.wait),
            interactive: match settings["interactive"].as_array() {
                Some(names) => names.iter().filter_map(Value::as_str).map(SharedId::from).collect(),
                None => defaults.interactive,
            },
            limits: MachineLimits {
                waiting: number(&settings["limits"]["waiting"]).unwrap_or(defaults.limits.waiting),
                runs: number(&settings["limits"]["runs"]).unwrap_or(defaults.limits.runs),
            },
        }
    }
}

/// An output of the machine, or of the parser in front of it.
enum Told {
    Effect(Box<RunEffect>),
    /// A line was not an event.
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
    let mut outputs = Vec::new();
    for input in inputs {
        give(&mut session, input, &mut outputs, &vector.name());
    }
    (session, outputs)
}

fn give(session: &mut SessionMachine, input: &Value, outputs: &mut Vec<Told>, name: &str) {
    let now = input["now"].as_u64().expect("a time");
    let mut effects = Vec::new();
    let line = match (input.get("event"), &input["line"]) {
        (Some(event), _) => Some(event.to_string()),
        (None, line) => line.as_str().map(str::to_owned),
    };
    let mut is_unreadable = false;
    let machine_input = match (&line, input.get("answer")) {
        (Some(line), _) => match wire::read(line) {
            Ok(event) => MachineInput::Event(event),
            Err(_) => {
                is_unreadable = true;
                MachineInput::Tick
            }
        },
        (None, Some(reply)) => {
            let route = session.route(&answer(reply));
            let code = match &route {
                Ok(AnswerRoute::Deliver(_)) => "deliver",
                Ok(AnswerRoute::Repeated) => "repeated",
                Err(error) => error.code(),
            };
            assert_eq!(input["routed"], code, "{name}: {input}");
            match route {
                Ok(AnswerRoute::Deliver(event)) => MachineInput::Event(event),
                Ok(AnswerRoute::Repeated) | Err(_) => return,
            }
        }
        (None, None) => MachineInput::Tick,
    };
    session.apply(now, machine_input, &mut effects);
    outputs.extend(effects.into_iter().map(Told::from));
    outputs.extend(is_unreadable.then_some(Told::Unreadable));
}

fn answer(reply: &Value) -> UserAnswer {
    let id = |value: &Value| value.as_str().map(SharedId::from);
    let verdict = match reply["verdict"].as_str() {
        Some("allowed") => ApprovalVerdict::Allowed,
        Some("denied") => ApprovalVerdict::Denied,
        Some("answered") => ApprovalVerdict::Answered,
        _ => ApprovalVerdict::Cancelled,
    };
    let turn = reply["turn"].as_u64().and_then(|turn| u32::try_from(turn).ok());
    UserAnswer {
        run: id(&reply["run"]),
        call: CallRef { id: id(&reply["call"]), turn },
        id: id(&reply["id"]),
        verdict,
        answer: reply.get("answer").map(RawJson::from),
    }
}

/// The expected state with the expected counts.
fn snapshot(vector: &Vector) -> Value {
    let (mut snapshot, counts) = (vector.says["truth"].clone(), &vector.says["counts"]);
    snapshot["waiting"] = counts["waiting"].clone();
    snapshot["dropped"] = counts["dropped"].clone();
    for (at, run) in snapshot["runs"].as_array_mut().into_iter().flatten().enumerate() {
        run["counts"] = counts["runs"][at].clone();
    }
    snapshot
}
