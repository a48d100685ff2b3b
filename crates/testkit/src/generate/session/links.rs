//! Damage to the links of records.

use serde_json::{Value, json};

use crate::random::Random;

type LinkAccident = fn(&mut Random, &mut Vec<Value>);

const ACCIDENTS: [LinkAccident; 6] = [
    |random, records| swap_lines(random, records),
    lose_line,
    |random, records| lose_parent(random, records),
    |random, records| hang_on_itself(random, records),
    |random, records| go_in_circles(random, records),
    |random, records| use_id_again(random, records),
];

/// Applies one or two kinds of damage; damage to links only where records are linked.
pub(super) fn damage(random: &mut Random, records: &mut Vec<Value>, linked: bool) {
    let accidents = if linked { &ACCIDENTS[..] } else { &ACCIDENTS[..2] };
    for _ in 0..1 + random.below(2) {
        if !records.is_empty() {
            random.pick(accidents)(random, records);
        }
    }
}

/// The records that have an id.
fn linked(records: &[Value]) -> Vec<usize> {
    (0..records.len()).filter(|at| records[*at]["uuid"].is_string()).collect()
}

fn any(random: &mut Random, records: &[Value]) -> Option<usize> {
    let linked = linked(records);
    (!linked.is_empty()).then(|| *random.pick(&linked))
}

fn lose_parent(random: &mut Random, records: &mut [Value]) {
    if let Some(at) = any(random, records) {
        records[at]["parentUuid"] = json!("nowhere");
    }
}

fn lose_line(random: &mut Random, records: &mut Vec<Value>) {
    records.remove(random.below(records.len()));
}

fn hang_on_itself(random: &mut Random, records: &mut [Value]) {
    if let Some(at) = any(random, records) {
        records[at]["parentUuid"] = records[at]["uuid"].clone();
    }
}

fn go_in_circles(random: &mut Random, records: &mut [Value]) {
    let linked = linked(records);
    if linked.len() > 1 {
        let early = random.below(linked.len() - 1);
        let late = early + 1 + random.below(linked.len() - early - 1);
        records[linked[early]]["parentUuid"] = records[linked[late]]["uuid"].clone();
    }
}

/// Two records with one id and different content. Records that a compaction names are left out,
/// because the reference would be ambiguous.
fn use_id_again(random: &mut Random, records: &mut [Value]) {
    let (Some(one), Some(two)) = (any(random, records), any(random, records)) else { return };
    let named = |at: usize| {
        let id = records[at]["uuid"].to_string();
        let keys = ["compactMetadata", "firstKeptEntryId"];
        let names = |record: &Value| keys.iter().any(|key| record[*key].to_string().contains(&id));
        let is_tail = |record: &Value| {
            record["type"] == "compaction" && record["parentUuid"] == records[at]["uuid"]
        };
        records.iter().any(|record| names(record) || is_tail(record))
    };
    if !named(one) && !named(two) {
        records[two]["uuid"] = records[one]["uuid"].clone();
    }
}

fn swap_lines(random: &mut Random, records: &mut [Value]) {
    if records.len() > 1 {
        let at = random.below(records.len() - 1);
        records.swap(at, at + 1);
    }
}
