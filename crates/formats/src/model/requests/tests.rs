//! Settings in every format, converted to the same format and to every other.

use serde_json::Value;

use super::*;
use foxwedge_json::JsonTape;

mod rich;
mod tables;
mod hostile;

use Format::{Anthropic, Bedrock, Gemini, OpenaiChat as Chat, OpenaiResponses as Responses};

/// The converted settings of a request, and the losses as `name: note`.
fn converted(source: &str, from: Format, to: Format) -> (Value, Vec<String>) {
    let tape = JsonTape::read(source).expect("JSON");
    let settings = read(&tape.root(source).object().expect("an object"), from);
    written(&settings, Some(from), to)
}

fn written(
    settings: &RequestSettings<'_>,
    from: Option<Format>,
    to: Format,
) -> (Value, Vec<String>) {
    let (body, losses) = (&mut String::new(), &mut Vec::new());
    let target = (foxwedge_core::Profile::for_format(to), to);
    write(settings, from, target, ChatServer::default(), body, losses);
    let descriptions =
        losses.iter().map(|loss| format!("{}: {}", loss.kind.name(), loss.note)).collect();
    (value(body), descriptions)
}

/// Parses fields that are each followed by a comma. No key may occur twice.
fn value(members: &str) -> Value {
    let body = format!("{{{}}}", members.strip_suffix(',').unwrap_or(members));
    let tape = JsonTape::read(&body).unwrap_or_else(|trouble| panic!("{trouble:?} in {body}"));
    assert_eq!(twice(tape.root(&body)), None, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

/// A key that occurs twice in an object.
fn twice(value: foxwedge_json::JsonValue<'_, '_>) -> Option<String> {
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

/// A request without its conversation.
fn without_conversation(source: &str, format: Format) -> Value {
    let mut value: Value = serde_json::from_str(source).expect("JSON");
    let object = value.as_object_mut().expect("an object");
    conversation_keys(format).iter().for_each(|key| drop(object.remove(*key)));
    value
}

/// Settings without their original JSON.
fn gist<'a>(settings: &RequestSettings<'a>) -> RequestSettings<'a> {
    let mut settings = RequestSettings { original: None, ..settings.clone() };
    settings.tools.iter_mut().for_each(|tool| tool.raw = None);
    settings.others.sort_by_key(|setting| (setting.parent, setting.key.to_string()));
    settings
}
