//! Settings in every format, into the same and into every other.

use serde_json::Value;

use super::*;
use crate::json::Tape;

mod rich;
mod tables;
mod hostile;

use Wire::{Anthropic, Bedrock, Gemini, OpenaiChat as Chat, OpenaiResponses as Responses};

/// The settings of a request, and what was lost, as `name: note`.
fn converted(source: &str, from: Wire, to: Wire) -> (Value, Vec<String>) {
    let tape = Tape::read(source).expect("JSON");
    let settings = read(&tape.root(source).object().expect("an object"), from);
    written(&settings, Some(from), to)
}

fn written(settings: &Settings<'_>, from: Option<Wire>, to: Wire) -> (Value, Vec<String>) {
    let (body, losses) = (&mut String::new(), &mut Vec::new());
    write(settings, from, foxwedge_core::Profile::of(to), to, body, losses);
    let told = losses.iter().map(|loss| format!("{}: {}", loss.what.name(), loss.note)).collect();
    (value(body), told)
}

/// Fields with commas behind them, as an object in which no field stands twice.
fn value(members: &str) -> Value {
    let body = format!("{{{}}}", members.strip_suffix(',').unwrap_or(members));
    let tape = Tape::read(&body).unwrap_or_else(|trouble| panic!("{trouble:?} in {body}"));
    assert_eq!(twice(tape.root(&body)), None, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

/// A field that stands twice in an object.
fn twice(value: crate::json::Value<'_, '_>) -> Option<String> {
    if let Some(object) = value.object() {
        let mut keys: Vec<String> = object.fields().map(|(key, _)| key.into_owned()).collect();
        keys.sort();
        let pair = keys.windows(2).find(|pair| pair[0] == pair[1]);
        return pair
            .map(|pair| pair[0].clone())
            .or_else(|| object.fields().find_map(|(_, value)| twice(value)));
    }
    value.list().find_map(twice)
}

/// A request without what is said in it.
fn unsaid(source: &str, wire: Wire) -> Value {
    let mut value: Value = serde_json::from_str(source).expect("JSON");
    let object = value.as_object_mut().expect("an object");
    said(wire).iter().for_each(|key| drop(object.remove(*key)));
    value
}

/// What settings say, without how it was spelled.
fn gist<'a>(settings: &Settings<'a>) -> Settings<'a> {
    let mut settings = Settings { spelled: None, ..settings.clone() };
    settings.tools.iter_mut().for_each(|tool| tool.raw = None);
    settings.others.sort_by_key(|setting| (setting.within, setting.key.to_string()));
    settings
}
