mod generate;
mod laws;
mod spelling;
mod lenient;
mod desktop;
mod hostile;

use super::{EventParseError, read, write};
use crate::*;

/// Every example in the reference documentation.
fn examples() -> Vec<&'static str> {
    let reference = include_str!("../../../../docs/runs/events.md");
    reference.lines().filter(|line| line.starts_with("{\"type\"")).collect()
}

fn id(text: &str) -> SharedId {
    text.into()
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap_or_else(|| panic!("not JSON: {text}"))
}

/// An event of run `r` with nothing but a payload.
fn plain(body: EventPayload) -> RunEvent {
    RunEvent::new(&id("r"), body)
}

/// An event of run `r` with an unknown value.
fn odd(value: &str, body: EventPayload) -> RunEvent {
    RunEvent { unknown_word: Some(id(value)), ..plain(body) }
}

/// Call `c`.
fn c() -> CallRef {
    CallRef { id: Some(id("c")), turn: None }
}

/// Parses an event of run `r` with the given other fields.
fn event(inside: &str) -> RunEvent {
    let text = format!("{{\"runId\":\"r\",{inside}}}");
    read(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
