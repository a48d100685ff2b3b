//! Every rule in every dialect that can break it: one document that is fine, one that is not.

mod pairing;
mod ids;
mod content;
mod order;
mod reasoning;

use serde_json::{Value, json};

use super::violations;
use crate::generate::tests::reachable;
use crate::{DIALECTS, Random, body};

/// One rule: its code, the dialect, the profile, a document that keeps it, one that breaks it.
///
/// A document is a shape, or JSON in which `$u`, `$a`, `$c`, `$r` and `$s` stand for the
/// messages of the shapes `u`, `a`, `a[callid001]`, `r[callid001]` and `s`.
pub(super) type Row = (u16, &'static str, &'static str, String, String);

/// The dialects whose answers are blocks.
pub(super) const BLOCKS: [&str; 3] = ["anthropic", "gemini", "bedrock"];

/// What a sound document breaks.
pub(super) const NOTHING: [u16; 0] = [];

/// A row from literals.
pub(super) fn row(
    code: u16,
    dialect: &'static str,
    profile: &'static str,
    sound: &str,
    broken: &str,
) -> Row {
    (code, dialect, profile, sound.to_owned(), broken.to_owned())
}

/// The document that a cell of a table stands for.
pub(super) fn document(dialect: &str, cell: &str) -> Value {
    if !cell.starts_with(['[', '{']) {
        return serde_json::from_str(&body(dialect, cell)).expect("a shape is JSON");
    }
    let mut text = cell.to_owned();
    let letters =
        [("$u", "u"), ("$a", "a"), ("$c", "a[callid001]"), ("$r", "r[callid001]"), ("$s", "s")];
    for (letter, shape) in letters {
        let list = body(dialect, shape);
        let message = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        text = text.replace(letter, message.expect("a shape is a list"));
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The codes that a document breaks, each once.
pub(super) fn codes(dialect: &str, profile: &str, document: &Value) -> Vec<u16> {
    let mut codes: Vec<u16> =
        violations(dialect, profile, false, document).iter().map(|found| found.code).collect();
    codes.dedup();
    codes
}

#[test]
fn sound_documents_keep_their_rule_and_broken_ones_break_it() {
    for (code, dialect, profile, sound, broken) in table() {
        let name = format!("{code} in {dialect} under {profile}");
        let found = codes(dialect, profile, &document(dialect, &sound));
        assert!(!found.contains(&code), "{name}: {sound} breaks {found:?}");
        let found = codes(dialect, profile, &document(dialect, &broken));
        assert!(found.contains(&code), "{name}: {broken} breaks {found:?}");
    }
}

#[test]
fn every_rule_has_a_row_for_every_dialect_that_can_break_it() {
    let table = table();
    for dialect in DIALECTS {
        for code in reachable(dialect) {
            let covered = table.iter().any(|row| (row.0, row.1) == (code, dialect));
            assert!(covered, "{code} has no row in {dialect}");
        }
    }
}

#[test]
fn no_value_is_too_strange_to_judge() {
    let mut random = Random::new(5);
    let words =
        ["role", "content", "parts", "messages", "tool_calls", "type", "id", "user", "assistant"];
    for _ in 0..2_000 {
        let value = strange(&mut random, &words, 4);
        for dialect in DIALECTS {
            for profile in crate::PROFILES {
                violations(dialect, profile, true, &value);
            }
            crate::inventory(dialect, &value);
        }
    }
    assert!(violations("unknown", "strict", false, &json!([])).is_empty());
    assert!(violations("gemini", "unknown", false, &json!([])).is_empty());
}

fn strange(random: &mut Random, words: &[&str], depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.below(3)),
        2 => json!(random.chance(50)),
        3 => json!(random.pick(words)),
        4 | 5 => (0..random.below(4)).map(|_| strange(random, words, depth - 1)).collect(),
        _ => {
            let fields = (0..random.below(4))
                .map(|_| ((*random.pick(words)).to_owned(), strange(random, words, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

fn table() -> Vec<Row> {
    let families =
        [pairing::rows(), ids::rows(), content::rows(), order::rows(), reasoning::rows()];
    families.into_iter().flatten().collect()
}
