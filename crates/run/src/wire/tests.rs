mod generate;
mod laws;
mod spelling;
mod lenient;
mod desktop;
mod hostile;

use super::{EventParseError, read, write};
use crate::*;

/// Every example of the reference.
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

/// An event of run `r` that says nothing but its body.
fn plain(body: EventPayload) -> RunEvent {
    RunEvent::new(&id("r"), body)
}

/// An event of run `r` with something strange in it.
fn odd(word: &str, body: EventPayload) -> RunEvent {
    RunEvent { unknown_word: Some(id(word)), ..plain(body) }
}

/// Call `c`.
fn c() -> CallRef {
    CallRef { id: Some(id("c")), turn: None }
}

/// The event of an object of run `r`, whose other fields are given.
fn event(inside: &str) -> RunEvent {
    let text = format!("{{\"runId\":\"r\",{inside}}}");
    read(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
