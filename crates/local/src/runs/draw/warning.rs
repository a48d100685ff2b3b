//! Warnings for the operator.

use foxwedge_run::{RunRefusal, RunWarning};

/// A warning as text.
pub fn warning_text(warning: &RunWarning) -> String {
    match warning {
        RunWarning::NeverStarted { run, events } => {
            format!("run `{run}` never started: {events} of its events were dropped")
        }
        RunWarning::Refused { run, refusal: RunRefusal::OlderEpoch } => {
            format!("run `{run}` was rejected: a newer run has started")
        }
        RunWarning::Refused { run, refusal: RunRefusal::EpochTaken } => {
            format!("run `{run}` was rejected: another run has the same number")
        }
        RunWarning::Missing { run, from, to } if from == to => {
            format!("run `{run}`: event {from} is missing")
        }
        RunWarning::Missing { run, from, to } => {
            format!("run `{run}`: events {from} to {to} are missing")
        }
        RunWarning::UnknownWord { run, word } => {
            format!("run `{run}`: unknown value `{word}`")
        }
        RunWarning::NeverCalled { run, tool } => {
            format!("run `{run}`: a tool result for `{}` came without its call", tool.call)
        }
        RunWarning::TooManyWaiting { run } => {
            format!("run `{run}`: too many events wait for its start; the oldest was dropped")
        }
    }
}
