//! What an operator may want to know, in words.

use foxwedge_run::{RunRefusal, RunWarning};

/// A warning in words.
pub(crate) fn warning_text(warning: &RunWarning) -> String {
    match warning {
        RunWarning::NeverStarted { run, events } => {
            format!("run `{run}` never began: {events} of its events were dropped")
        }
        RunWarning::Refused { run, refusal: RunRefusal::OlderEpoch } => {
            format!("run `{run}` was refused: a newer one has begun")
        }
        RunWarning::Refused { run, refusal: RunRefusal::EpochTaken } => {
            format!("run `{run}` was refused: another one has its number")
        }
        RunWarning::Missing { run, from, to } if from == to => {
            format!("run `{run}`: event {from} never came")
        }
        RunWarning::Missing { run, from, to } => {
            format!("run `{run}`: events {from} to {to} never came")
        }
        RunWarning::UnknownWord { run, word } => {
            format!("run `{run}`: nobody knows the word `{word}`")
        }
        RunWarning::NeverCalled { run, tool } => {
            format!("run `{run}`: an answer to `{}` came, and never the call", tool.call)
        }
        RunWarning::TooManyWaiting { run } => {
            format!("run `{run}`: too much waits for its start; the oldest was dropped")
        }
    }
}
