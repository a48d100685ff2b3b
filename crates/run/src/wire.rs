//! Events as JSON: one object for each, on one line.
//!
//! Writing and reading again gives the same event. Reading is lenient: other agents' spellings
//! are taken, and what is not understood is kept, never dropped. `docs/runs/events.md` lists every
//! field. What never happens here: a panic, or an error because of something in an event that
//! nobody knows.

mod strings;
mod field_writer;
mod enum_names;
mod write;
mod object;
mod read;
mod calls;
mod ending;

use std::fmt;

use crate::RunEvent;

/// An event as one JSON object, without a line break.
pub fn write(event: &RunEvent) -> String {
    let mut out = String::with_capacity(160);
    write_into(event, &mut out);
    out
}

/// Adds an event to a text, as one JSON object without a line break.
pub fn write_into(event: &RunEvent, out: &mut String) {
    write::write_event(event, out);
}

/// An event out of a JSON object.
pub fn read(text: &str) -> Result<RunEvent, EventParseError> {
    read::read_event(text)
}

/// Why a text is no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventParseError {
    /// It is not JSON: torn, or something else.
    NotJson,
    /// It is JSON, and not an object.
    NotObject,
    /// It does not say which run it belongs to.
    NoRun,
    /// It does not say what it is.
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
