//! What an operator may want to know, in words.

use foxwedge_run::{Refusal, Warning};

/// A warning in words.
pub(crate) fn worded(warning: &Warning) -> String {
    match warning {
        Warning::NeverStarted { run, events } => {
            format!("run `{run}` never began: {events} of its events were dropped")
        }
        Warning::Refused { run, refusal: Refusal::OlderEpoch } => {
            format!("run `{run}` was refused: a newer one has begun")
        }
        Warning::Refused { run, refusal: Refusal::EpochTaken } => {
            format!("run `{run}` was refused: another one has its number")
        }
        Warning::Missing { run, from, to } if from == to => {
            format!("run `{run}`: event {from} never came")
        }
        Warning::Missing { run, from, to } => {
            format!("run `{run}`: events {from} to {to} never came")
        }
        Warning::UnknownWord { run, word } => {
            format!("run `{run}`: nobody knows the word `{word}`")
        }
        Warning::NeverCalled { run, tool } => {
            format!("run `{run}`: an answer to `{}` came, and never the call", tool.call)
        }
        Warning::TooMuchWaits { run } => {
            format!("run `{run}`: too much waits for its start; the oldest was dropped")
        }
    }
}
