//! Events as JSON: one object for each, on one line.
//!
//! Writing and reading again gives the same event. Reading is lenient: other agents' spellings
//! are taken, and what is not understood is kept, never dropped. `docs/runs/events.md` lists every
//! field. What never happens here: a panic, or an error because of something in an event that
//! nobody knows.

mod strings;
mod pen;
mod words;
mod write;
mod object;
mod read;
mod calls;
mod ending;

use std::fmt;

use crate::Event;

/// An event as one JSON object, without a line break.
pub fn write(event: &Event) -> String {
    let mut out = String::with_capacity(160);
    write_into(event, &mut out);
    out
}

/// Adds an event to a text, as one JSON object without a line break.
pub fn write_into(event: &Event, out: &mut String) {
    write::event(event, out);
}

/// An event out of a JSON object.
pub fn read(text: &str) -> Result<Event, WireError> {
    read::event(text)
}

/// Why a text is no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// It is not JSON: torn, or something else.
    NotJson,
    /// It is JSON, and not an object.
    NotObject,
    /// It does not say which run it belongs to.
    NoRun,
    /// It does not say what it is.
    NoType,
}

impl fmt::Display for WireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            WireError::NotJson => "the event is not JSON",
            WireError::NotObject => "the event is not a JSON object",
            WireError::NoRun => "the event has no `runId`",
            WireError::NoType => "the event has no `type`",
        })
    }
}

impl std::error::Error for WireError {}

#[cfg(test)]
mod tests;
