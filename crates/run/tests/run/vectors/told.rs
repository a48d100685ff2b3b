//! What was told, in the words of the vectors.

use foxwedge_run::{ApprovalResolution, RawJson, RunEffect, RunWarning, SessionMachine, wire};
use serde_json::{Value, json};

use super::Told;

/// Runs and outcomes.
pub(super) fn announced(told: &[Told]) -> Value {
    let ends = effects(told).filter_map(|effect| match effect {
        RunEffect::Announce { run, ended, .. } => {
            Some(json!([&**run, ended.outcome.map(|outcome| outcome.name())]))
        }
        _ => None,
    });
    ends.collect()
}

/// Codes.
pub(super) fn warnings(told: &[Told]) -> Value {
    let codes = told.iter().filter_map(|told| match told {
        Told::Effect(effect) => match &**effect {
            RunEffect::Warn(warning) => Some(code(warning)),
            _ => None,
        },
        Told::Unreadable => Some("unreadable"),
    });
    codes.collect()
}

/// Run, call, request, and what whoever waits for it gets.
pub(super) fn resolved(told: &[Told]) -> Value {
    let got = effects(told).filter_map(|effect| match effect {
        RunEffect::Resolve { run, tool, id, resolution } => {
            let what = match resolution {
                ApprovalResolution::Replied(verdict, _) => verdict.name(),
                ApprovalResolution::Cancelled => "cancelled",
            };
            Some(json!([&**run, &*tool.call, &**id, what]))
        }
        _ => None,
    });
    got.collect()
}

/// The lines of the log.
pub(super) fn emitted(told: &[Told]) -> Vec<String> {
    let lines = effects(told).filter_map(|effect| match effect {
        RunEffect::Emit(event) => Some(wire::write(event)),
        _ => None,
    });
    lines.collect()
}

/// What holds whatever came in: a call has both of its names, and the text of the end is the
/// text of the run.
pub(super) fn laws(session: &SessionMachine, told: &[Told], name: &str) {
    for line in emitted(told) {
        let event = RawJson::parse(&line).expect("our own line").value();
        assert_eq!(event.get("toolCallId"), event.get("toolId"), "{name}");
    }
    for effect in effects(told) {
        if let RunEffect::Announce { run, ended, .. } = effect
            && let Some(run) = session.run(run)
        {
            let text = ended.text.clone().map(Value::from);
            assert_eq!(run.canonical_state().get("text").cloned(), text, "{name}");
        }
    }
}

fn effects(told: &[Told]) -> impl Iterator<Item = &RunEffect> {
    told.iter().filter_map(|told| match told {
        Told::Effect(effect) => Some(&**effect),
        Told::Unreadable => None,
    })
}

fn code(warning: &RunWarning) -> &'static str {
    match warning {
        RunWarning::NeverStarted { .. } => "never_started",
        RunWarning::Refused { .. } => "refused",
        RunWarning::Missing { .. } => "missing",
        RunWarning::UnknownWord { .. } => "unknown_word",
        RunWarning::NeverCalled { .. } => "never_called",
        RunWarning::TooManyWaiting { .. } => "too_much_waits",
    }
}
