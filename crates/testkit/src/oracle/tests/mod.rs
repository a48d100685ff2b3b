//! Every rule in every format that can break it: one valid and one invalid document.

mod pairing;
mod ids;
mod content;
mod order;
mod reasoning;
mod steps;

use serde_json::{Value, json};

use super::violations;
use crate::generate::tests::reachable;
use crate::{DIALECTS, Random, body};

/// One rule: its code, the format, the profile, a document that keeps it, one that breaks it.
///
/// A document is a shape, or JSON in which `$u`, `$a`, `$c`, `$r` and `$s` stand for the messages
/// of the shapes `u`, `a`, `a[callid001]`, `r[callid001]` and `s`.
pub(super) type RuleTestRow = (u16, &'static str, &'static str, String, String);

/// The formats whose results are blocks.
pub(super) const BLOCKS: [&str; 3] = ["anthropic", "gemini", "bedrock"];

/// The violations of a valid document.
pub(super) const NOTHING: [u16; 0] = [];

/// A row from literals.
pub(super) fn row(
    code: u16,
    format: &'static str,
    profile: &'static str,
    sound: &str,
    broken: &str,
) -> RuleTestRow {
    (code, format, profile, sound.to_owned(), broken.to_owned())
}

/// The document of a table cell.
pub(super) fn document(format: &str, cell: &str) -> Value {
    if !cell.starts_with(['[', '{']) {
        return serde_json::from_str(&body(format, cell)).expect("a shape is JSON");
    }
    let mut text = cell.to_owned();
    let letters =
        [("$u", "u"), ("$a", "a"), ("$c", "a[callid001]"), ("$r", "r[callid001]"), ("$s", "s")];
    for (letter, shape) in letters {
        let list = body(format, shape);
        let message = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        text = text.replace(letter, message.expect("a shape is a list"));
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The codes of the violations of a document, each once.
pub(super) fn codes(format: &str, profile: &str, document: &Value) -> Vec<u16> {
    let mut codes: Vec<u16> =
        violations(format, profile, false, document).iter().map(|found| found.code).collect();
    codes.dedup();
    codes
}

#[test]
fn valid_documents_keep_their_rule_and_invalid_ones_break_it() {
    for (code, format, profile, sound, broken) in table() {
        let name = format!("{code} in {format} under {profile}");
        let found = codes(format, profile, &document(format, &sound));
        assert!(!found.contains(&code), "{name}: {sound} breaks {found:?}");
        let found = codes(format, profile, &document(format, &broken));
        assert!(found.contains(&code), "{name}: {broken} breaks {found:?}");
    }
}

#[test]
fn every_rule_has_a_row_for_every_dialect_that_can_break_it() {
    let table = table();
    for format in DIALECTS {
        for code in reachable(format) {
            let covered = table.iter().any(|row| (row.0, row.1) == (code, format));
            assert!(covered, "{code} has no row in {format}");
        }
    }
}

#[test]
fn no_value_is_too_strange_to_judge() {
    let mut random = Random::new(5);
    let texts =
        ["role", "content", "parts", "messages", "tool_calls", "type", "id", "user", "assistant"];
    for _ in 0..2_000 {
        let value = strange(&mut random, &texts, 4);
        for format in DIALECTS {
            for profile in crate::PROFILES {
                violations(format, profile, true, &value);
            }
            crate::inventory(format, &value);
        }
    }
    assert!(violations("unknown", "strict", false, &json!([])).is_empty());
    assert!(violations("gemini", "unknown", false, &json!([])).is_empty());
}

fn strange(random: &mut Random, texts: &[&str], depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.below(3)),
        2 => json!(random.chance(50)),
        3 => json!(random.pick(texts)),
        4 | 5 => (0..random.below(4)).map(|_| strange(random, texts, depth - 1)).collect(),
        _ => {
            let fields = (0..random.below(4))
                .map(|_| ((*random.pick(texts)).to_owned(), strange(random, texts, depth - 1)));
            Value::Object(fields.collect())
        }
    }
}

fn table() -> Vec<RuleTestRow> {
    let families = [
        pairing::rows(),
        ids::rows(),
        content::rows(),
        order::rows(),
        reasoning::rows(),
        steps::rows(),
    ];
    families.into_iter().flatten().collect()
}
