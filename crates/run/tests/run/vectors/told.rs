//! The outputs of the machine, in the form of the vectors.

use foxwedge_run::{ApprovalResolution, RawJson, RunEffect, RunWarning, SessionMachine, wire};
use serde_json::{Value, json};

use super::Told;

/// The announced runs and their outcomes.
pub(super) fn announced(outputs: &[Told]) -> Value {
    let ends = effects(outputs).filter_map(|effect| match effect {
        RunEffect::Announce { run, ended, .. } => {
            Some(json!([&**run, ended.outcome.map(|outcome| outcome.name())]))
        }
        _ => None,
    });
    ends.collect()
}

/// The codes of the warnings.
pub(super) fn warnings(outputs: &[Told]) -> Value {
    let codes = outputs.iter().filter_map(|output| match output {
        Told::Effect(effect) => match &**effect {
            RunEffect::Warn(warning) => Some(code(warning)),
            _ => None,
        },
        Told::Unreadable => Some("unreadable"),
    });
    codes.collect()
}

/// Run, call, request and resolution.
pub(super) fn resolved(outputs: &[Told]) -> Value {
    let resolutions = effects(outputs).filter_map(|effect| match effect {
        RunEffect::Resolve { run, tool, id, resolution } => {
            let verdict = match resolution {
                ApprovalResolution::Replied(verdict, _) => verdict.name(),
                ApprovalResolution::Cancelled => "cancelled",
            };
            Some(json!([&**run, &*tool.call, &**id, verdict]))
        }
        _ => None,
    });
    resolutions.collect()
}

/// The lines of the log.
pub(super) fn emitted(outputs: &[Told]) -> Vec<String> {
    let lines = effects(outputs).filter_map(|effect| match effect {
        RunEffect::Emit(event) => Some(wire::write(event)),
        _ => None,
    });
    lines.collect()
}

/// Checks what must hold for any input: a call has both of its id fields, and the text of the end
/// is the text of the run.
pub(super) fn laws(session: &SessionMachine, outputs: &[Told], name: &str) {
    for line in emitted(outputs) {
        let event = RawJson::parse(&line).expect("our own line").value();
        assert_eq!(event.get("toolCallId"), event.get("toolId"), "{name}");
    }
    for effect in effects(outputs) {
        if let RunEffect::Announce { run, ended, .. } = effect
            && let Some(run) = session.run(run)
        {
            let text = ended.text.clone().map(Value::from);
            assert_eq!(run.canonical_state().get("text").cloned(), text, "{name}");
        }
    }
}

fn effects(outputs: &[Told]) -> impl Iterator<Item = &RunEffect> {
    outputs.iter().filter_map(|output| match output {
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
