//! Events as JSON: one object per event, on one line.
//!
//! Writing an event and reading it again gives the same event. Reading is lenient: it accepts the
//! spellings of other agents, and keeps what it does not understand. `docs/runs/events.md` lists
//! every field. Nothing here panics, and unknown content in an event is never an error.

mod field_writer;
mod enum_names;
mod write;
mod object;
mod read;
mod calls;
mod ending;

use std::fmt;

use crate::RunEvent;

/// Writes an event as one JSON object, without a line break.
pub fn write(event: &RunEvent) -> String {
    let mut out = String::with_capacity(160);
    write_into(event, &mut out);
    out
}

/// The same, with an epoch and a time where the event has none.
pub fn write_with(event: &RunEvent, epoch: Option<u64>, at: u64) -> String {
    let mut out = String::with_capacity(256);
    append_with(event, epoch, at, &mut out);
    out
}

/// Appends an event to a text, with an epoch and a time where the event has none.
pub fn append_with(event: &RunEvent, epoch: Option<u64>, at: u64, out: &mut String) {
    write::write_event(event, event.epoch.or(epoch), Some(event.at.unwrap_or(at)), out);
}

/// Appends an event to a text, as one JSON object without a line break.
pub fn write_into(event: &RunEvent, out: &mut String) {
    write::write_event(event, event.epoch, event.at, out);
}

/// Parses an event from a JSON object.
pub fn read(text: &str) -> Result<RunEvent, EventParseError> {
    read::read_event(text)
}

/// Why a text is not an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventParseError {
    /// It is not JSON, or it is truncated.
    NotJson,
    /// It is JSON, but not an object.
    NotObject,
    /// It has no run id.
    NoRun,
    /// It has no type.
    NoType,
}

impl fmt::Display for EventParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            EventParseError::NotJson => "the event is not JSON",
            EventParseError::NotObject => "the event is not a JSON object",
            EventParseError::NoRun => "the event has no `runId`",
            EventParseError::NoType => "the event has no `type`",
        })
    }
}

impl std::error::Error for EventParseError {}

#[cfg(test)]
mod tests;
