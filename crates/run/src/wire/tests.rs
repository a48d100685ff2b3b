mod generate;
mod laws;
mod spelling;
mod lenient;
mod desktop;
mod hostile;

use super::{WireError, read, write};
use crate::*;

/// Every example of the reference.
fn examples() -> Vec<&'static str> {
    let reference = include_str!("../../../../docs/runs/events.md");
    reference.lines().filter(|line| line.starts_with("{\"type\"")).collect()
}

fn id(text: &str) -> Id {
    text.into()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|| panic!("not JSON: {text}"))
}

/// An event of run `r` that says nothing but its body.
fn plain(body: Body) -> Event {
    Event::new(&id("r"), body)
}

/// An event of run `r` with something strange in it.
fn odd(word: &str, body: Body) -> Event {
    Event { odd: Some(id(word)), ..plain(body) }
}

/// Call `c`.
fn c() -> CallRef {
    CallRef { id: Some(id("c")), turn: None }
}

/// The event of an object of run `r`, whose other fields are given.
fn event(inside: &str) -> Event {
    let text = format!("{{\"runId\":\"r\",{inside}}}");
    read(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
