//! Looks for what was hung on a document by hand: settings, tools, fields that nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_dialect::model::{Loss, LossKind};
use serde_json::Value;

/// Numbers that only one setting has.
const NUMBERS: [&str; 6] = ["0.3719", "0.8231", "43211", "90217", "0.6113", "4117"];

/// Strings that begin like this, and what has to be told if they are gone.
const SETTINGS: [(&str, LossKind); 2] =
    [("kept-setting-", LossKind::Setting), ("kept-tool-", LossKind::Tool)];

/// The same, for what hangs on messages.
const NOTES: [(&str, LossKind); 2] =
    [("kept-field-", LossKind::Unknown), ("https://kept-cite-", LossKind::Citation)];

/// Settings that are gone without a word, if any are.
pub(super) fn unset(before: &Value, after: &Value, losses: &[Loss]) -> Option<String> {
    gone(before, after, losses, &SETTINGS)
}

/// Notes on messages that are gone without a word, if any are.
pub(super) fn unnoted(before: &Value, after: &Value, losses: &[Loss]) -> Option<String> {
    gone(before, after, losses, &NOTES)
}

fn gone(
    before: &Value,
    after: &Value,
    losses: &[Loss],
    known: &[(&str, LossKind)],
) -> Option<String> {
    let kept = spoken(after);
    let mut gone: BTreeMap<LossKind, Vec<String>> = BTreeMap::new();
    for (token, what) in found(before, known) {
        if !kept.contains(&token) {
            gone.entry(what).or_default().push(token);
        }
    }
    gone.into_iter().find_map(|(what, tokens)| {
        let told = losses.iter().filter(|loss| loss.kind == what).count();
        (told < tokens.len()).then(|| format!("{tokens:?} gone, {told} told as {}", what.name()))
    })
}

/// Everything that a document holds. A schema may be a string, with strings inside of it.
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
