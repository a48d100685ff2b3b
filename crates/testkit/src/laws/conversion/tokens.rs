//! Finds values that the generator added to a document: settings, tools, unknown fields.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_formats::model::{Loss, LossKind};
use serde_json::Value;

/// Numbers that occur in only one setting.
const NUMBERS: [&str; 6] = ["0.3719", "0.8231", "43211", "90217", "0.6113", "4117"];

/// Prefixes of generated strings, and the loss that must be reported if they are missing.
const SETTINGS: [(&str, LossKind); 2] =
    [("kept-setting-", LossKind::Setting), ("kept-tool-", LossKind::Tool)];

/// The same for fields of messages.
const NOTES: [(&str, LossKind); 2] =
    [("kept-field-", LossKind::Unknown), ("https://kept-cite-", LossKind::Citation)];

/// Settings that are missing without a reported loss.
pub(super) fn unset(before: &Value, after: &Value, losses: &[Loss]) -> Option<String> {
    gone(before, after, losses, &SETTINGS)
}

/// Fields of messages that are missing without a reported loss.
pub(super) fn unnoted(before: &Value, after: &Value, losses: &[Loss]) -> Option<String> {
    gone(before, after, losses, &NOTES)
}

fn gone(
    before: &Value,
    after: &Value,
    losses: &[Loss],
    known: &[(&str, LossKind)],
) -> Option<String> {
    let text = spoken(after);
    let mut missing: BTreeMap<LossKind, Vec<String>> = BTreeMap::new();
    for (token, what) in found(before, known) {
        if !text.contains(&token) {
            missing.entry(what).or_default().push(token);
        }
    }
    missing.into_iter().find_map(|(what, tokens)| {
        let reported = losses.iter().filter(|loss| loss.kind == what).count();
        (reported < tokens.len())
            .then(|| format!("{tokens:?} gone, {reported} told as {}", what.name()))
    })
}

/// All text of a document. A schema may be a string that holds JSON.
fn spoken(document: &Value) -> String {
    let mut all = document.to_string();
    nested(document, &mut all);
    all
}

fn nested(value: &Value, all: &mut String) {
    match value {
        Value::String(text) if text.starts_with('{') => {
            let inside = serde_json::from_str::<Value>(text).ok();
            all.extend(inside.map(|inside| inside.to_string()));
        }
        Value::Array(list) => list.iter().for_each(|value| nested(value, all)),
        Value::Object(fields) => fields.values().for_each(|value| nested(value, all)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn found(document: &Value, known: &[(&str, LossKind)]) -> BTreeSet<(String, LossKind)> {
    let mut all = BTreeSet::new();
    look(document, known, &mut all);
    all
}

fn look(value: &Value, known: &[(&str, LossKind)], all: &mut BTreeSet<(String, LossKind)>) {
    match value {
        Value::Number(number) => {
            let spelled = number.to_string();
            let settings = known.iter().any(|(_, what)| *what == LossKind::Setting);
            if settings && NUMBERS.contains(&spelled.as_str()) {
                all.insert((spelled, LossKind::Setting));
            }
        }
        Value::String(text) => {
            if let Some((_, what)) = known.iter().find(|(head, _)| text.starts_with(head)) {
                all.insert((text.clone(), *what));
            }
        }
        Value::Array(list) => list.iter().for_each(|value| look(value, known, all)),
        Value::Object(fields) => fields.values().for_each(|value| look(value, known, all)),
        Value::Null | Value::Bool(_) => {}
    }
}
