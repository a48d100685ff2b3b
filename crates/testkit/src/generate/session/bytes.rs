//! Writes records as lines, and damages lines.

use serde_json::Value;

use super::super::spelled;
use crate::random::Random;

/// The records, one per line. Ids have no escapes, as in all agents.
pub(super) fn lines(random: &mut Random, records: &[Value]) -> Vec<Vec<u8>> {
    let parents_first = random.chance(50);
    let spaced = random.chance(25);
    let line = |record: &Value| {
        let mut keys: Vec<&String> =
            record.as_object().map(|record| record.keys().collect()).unwrap_or_default();
        if parents_first {
            keys.sort_by_key(|key| *key != "parentUuid");
        }
        let mut field = |key: &str, value: &Value| -> String {
            match key {
                "message" => message(random, value),
                "content" => anyhow(random, value),
                _ => value.to_string(),
            }
        };
        let (comma, colon) = if spaced { (", ", ": ") } else { (",", ":") };
        let fields =
            keys.into_iter().map(|key| format!("{key:?}{colon}{}", field(key, &record[key])));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(comma)).into_bytes()
    };
    records.iter().map(line).collect()
}

/// A message whose content has any JSON notation.
fn message(random: &mut Random, message: &Value) -> String {
    let Some(fields) = message.as_object() else { return message.to_string() };
    let field = |(key, value): (&String, &Value)| match key.as_str() {
        "content" => format!("{key:?}:{}", anyhow(random, value)),
        _ => format!("{key:?}:{value}"),
    };
    format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
}

/// Any JSON notation that fits on a line.
fn anyhow(random: &mut Random, value: &Value) -> String {
    spelled(random, value).replace(['\n', '\r'], " ").trim().to_owned()
}

/// Joins the lines to a file: with one kind of line end, blank lines, possibly without the last
/// line end.
pub(super) fn joined(random: &mut Random, lines: &[Vec<u8>]) -> Vec<u8> {
    let end: &[u8] = if random.chance(10) { b"\r\n" } else { b"\n" };
    let blank = random.chance(10);
    let mut file = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        file.extend_from_slice(line);
        if at + 1 < lines.len() || !random.chance(15) {
            file.extend_from_slice(end);
        }
        if blank && random.chance(20) {
            file.extend_from_slice(end);
        }
    }
    file
}

type LineAccident = fn(&mut Random, &mut Vec<Vec<u8>>);

const ACCIDENTS: [LineAccident; 9] = [
    write_twice,
    |random, lines| tear_last_line(random, lines),
    |random, lines| tear_last_line(random, lines),
    |random, lines| tear_any_line(random, lines),
    glue_lines,
    tear_and_glue,
    leave_a_hole,
    |random, lines| pad_with_zeros(random, lines),
    |random, lines| spoil_a_character(random, lines),
];

/// Applies one or two kinds of damage.
pub(super) fn damage(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    for _ in 0..1 + random.below(2) {
        if !lines.is_empty() {
            random.pick(&ACCIDENTS)(random, lines);
        }
    }
}

fn tear(random: &mut Random, line: &mut Vec<u8>) {
    line.truncate(random.below(line.len()));
}

fn tear_last_line(random: &mut Random, lines: &mut [Vec<u8>]) {
    if let Some(last) = lines.last_mut() {
        tear(random, last);
    }
}

fn tear_any_line(random: &mut Random, lines: &mut [Vec<u8>]) {
    let at = random.below(lines.len());
    tear(random, &mut lines[at]);
}

fn write_twice(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    let at = random.below(lines.len());
    let to = if random.chance(60) { at + 1 } else { at + 1 + random.below(lines.len() - at) };
    lines.insert(to, lines[at].clone());
}

fn glue_lines(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    if lines.len() > 1 {
        let at = random.below(lines.len() - 1);
        let next = lines.remove(at + 1);
        lines[at].extend(next);
    }
}

/// A truncated record with the next record on the same line; often the same one again.
fn tear_and_glue(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    let at = random.below(lines.len());
    let mut torn = lines[at].clone();
    tear(random, &mut torn);
    if random.chance(60) {
        torn.extend_from_slice(&lines[at]);
        lines[at] = torn;
    } else {
        lines[at] = torn;
        if at + 1 < lines.len() {
            let next = lines.remove(at + 1);
            lines[at].extend(next);
        }
    }
}

fn leave_a_hole(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    let at = random.below(lines.len() + 1);
    lines.insert(at, vec![0; 1 + random.below(64)]);
}

fn pad_with_zeros(random: &mut Random, lines: &mut [Vec<u8>]) {
    let at = random.below(lines.len());
    let zeros = vec![0; 1 + random.below(16)];
    let place = *random.pick(&[0, lines[at].len()]);
    lines[at].splice(place..place, zeros);
}

/// A byte that is not UTF-8, inside a string.
fn spoil_a_character(random: &mut Random, lines: &mut [Vec<u8>]) {
    let at = random.below(lines.len());
    let letters: Vec<usize> = lines[at]
        .windows(2)
        .enumerate()
        .filter(|(_, two)| *two == b".\"")
        .map(|(at, _)| at)
        .collect();
    let place = letters.first().copied().unwrap_or(0);
    if let Some(byte) = lines[at].get_mut(place) {
        *byte = 0xff;
    }
}
