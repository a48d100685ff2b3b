//! Events through the machine, and through the machine and an encoder.

use std::{hint::black_box, time::Instant};

use foxwedge_run::{
    CallRef, EventPayload, MachineInput, MachineSettings, RawJson, RunEffect, RunEnd, RunEvent,
    RunStart, SessionMachine, SharedId, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult,
    ToolStatus, TurnStart,
    encode::{EncoderOptions, RunEncoder, UiFormat},
    step, wire,
};

const ROUNDS: usize = 7;

pub(crate) fn print() {
    println!("steps: millions of events a second on one core, best of {ROUNDS}\n");
    let source = log(20_000);
    let events = source.len() as f64;
    let mut emitted = Vec::new();
    run(&source, |effects| {
        emitted.extend(effects.iter().filter_map(|effect| match effect {
            RunEffect::Emit(event) => Some(event.clone()),
            _ => None,
        }));
    });
    let lines: Vec<String> = emitted.iter().map(wire::write).collect();
    let bytes: usize = lines.iter().map(String::len).sum();
    let told = |name: &str, seconds: f64, events: f64| {
        println!("  {name:<44}{:>8.2}", events / seconds / 1e6);
    };
    told("step, as a source", stepped(&source), events);
    told("step, out of a log", stepped(&emitted), emitted.len() as f64);
    for format in UiFormat::ALL {
        let options = EncoderOptions::new(&SharedId::from("s"));
        let encode = || {
            let mut encoder = RunEncoder::new(format, options.clone());
            let mut frames = Vec::new();
            run(&emitted, |effects| {
                frames.clear();
                effects.iter().for_each(|effect| encoder.push(effect, &mut frames));
                black_box(&frames);
            });
        };
        let name = format!("step and encode as {}", format.name());
        told(&name, best(encode), emitted.len() as f64);
    }
    let write = || emitted.iter().for_each(|event| drop(black_box(wire::write(event))));
    told("written as JSON", best(write), emitted.len() as f64);
    let read = || lines.iter().for_each(|line| drop(black_box(wire::read(line))));
    told("read from JSON", best(read), lines.len() as f64);
    println!("\n  {} events, {} bytes each as JSON\n", emitted.len(), bytes / lines.len());
}

fn best(mut work: impl FnMut()) -> f64 {
    let seconds = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(seconds).fold(f64::INFINITY, f64::min)
}

/// Steps alone: the events are copied before the clock runs.
fn stepped(events: &[RunEvent]) -> f64 {
    let seconds = |_| {
        let events = events.to_vec();
        let start = Instant::now();
        let mut session = SessionMachine::new(MachineSettings::default());
        for (now, event) in events.into_iter().enumerate() {
            let (next, effects) = step(session, now as u64, MachineInput::Event(event));
            session = next;
            black_box(effects);
        }
        let elapsed = start.elapsed().as_secs_f64();
        black_box(session);
        elapsed
    };
    (0..ROUNDS).map(seconds).fold(f64::INFINITY, f64::min)
}

fn run(events: &[RunEvent], mut effects: impl FnMut(&[RunEffect])) {
    let mut session = SessionMachine::new(MachineSettings::default());
    for (now, event) in events.iter().enumerate() {
        let (next, done) = step(session, now as u64, MachineInput::Event(event.clone()));
        session = next;
        effects(&done);
    }
    black_box(session);
}

/// Turns of twenty pieces of text and three calls, as an agent's stream has them.
pub(crate) fn log(turns: u32) -> Vec<RunEvent> {
    let run = SharedId::from("run-1700000000000-4f2a9c");
    let mut bodies = vec![EventPayload::Started(RunStart::default())];
    for turn in 1..=turns {
        let message = Some(SharedId::from(format!("msg_{turn:08}")));
        bodies.push(EventPayload::TurnStarted(TurnStart {
            turn: Some(turn),
            message: message.clone(),
        }));
        for _ in 0..20 {
            let delta = Some("a few words of text".to_owned());
            bodies.push(EventPayload::Text(TextUpdate {
                message: message.clone(),
                delta,
                ..TextUpdate::default()
            }));
        }
        for call in 0..3 {
            let id = Some(SharedId::from(format!("toolu_{turn:08}_{call}")));
            let call = CallRef { id, turn: Some(turn) };
            bodies.push(EventPayload::ToolCall(ToolCallUpdate {
                call: call.clone(),
                name: Some("Read".into()),
                input: RawJson::parse(r#"{"file":"src/main.rs"}"#),
                status: Some(ToolStatus::Running),
                ..ToolCallUpdate::default()
            }));
            let content = Some(RawJson::string("fn main() {}"));
            let (name, how, reason) = (None, ToolOutcome::Ok, None);
            bodies.push(EventPayload::ToolResult(ToolResult {
                call,
                name,
                outcome: how,
                reason,
                content,
            }));
        }
    }
    bodies.push(EventPayload::Ended(RunEnd::default()));
    bodies.into_iter().map(|body| RunEvent::new(&run, body)).collect()
}
