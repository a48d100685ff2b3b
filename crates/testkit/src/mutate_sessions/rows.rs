//! Damage to sessions in a database: their lines are rows, so every line stays complete.

use serde_json::{Value, json};

use crate::random::Random;

/// A copy of a session with one to four kinds of damage to its rows.
pub fn mutated_rows(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice);
    let mut rows: Vec<Value> = lines.filter_map(Result::ok).filter(Value::is_object).collect();
    for _ in 0..=random.below(4) {
        // The first row is that of the session.
        if rows.len() > 1 {
            let at = 1 + random.below(rows.len() - 1);
            damage(random, &mut rows, at);
        }
    }
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

fn damage(random: &mut Random, rows: &mut Vec<Value>, at: usize) {
    // The parts of a message are rows that belong to it.
    let parts = rows[at]["rows"].as_array_mut().filter(|parts| !parts.is_empty());
    if let Some(parts) = parts.filter(|_| random.chance(60)) {
        return damage_parts(random, parts);
    }
    match random.below(11) {
        0 => cut_off(random, &mut rows[at]["data"]),
        1 => drop(rows.remove(at)),
        2 => {
            let mut copy = rows[at].clone();
            copy["id"] = json!(format!("{}", 9000 + rows.len()));
            let to = 1 + random.below(rows.len());
            rows.insert(to, copy);
        }
        3 => {
            let other = 1 + random.below(rows.len() - 1);
            rows.swap(at, other);
        }
        4 => rows[at]["columns"]["role"] = json!(random.pick(&["user", "assistant", "tool", "x"])),
        5 => rows[at]["columns"]["metadata_json"] = json!("{\"agentVisible\":false}"),
        6 => {
            let column = *random.pick(&["created_at", "created_timestamp", "role", "model"]);
            rows[at]["columns"].as_object_mut().map(|columns| columns.remove(column));
        }
        7 => rows[0]["columns"]["summary_message_id"] = rows[at]["id"].clone(),
        8 => {
            let parts = rows[at]["data"].as_array_mut();
            if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
                let part = parts.remove(random.below(parts.len()));
                if random.chance(50) {
                    parts.extend([part.clone(), part]);
                }
            }
        }
        9 => other_id(random, &mut rows[at]["data"]),
        _ => other_value(random, &mut rows[at]["data"]),
    }
}

/// Damages the rows that belong to a row.
fn damage_parts(random: &mut Random, parts: &mut Vec<Value>) {
    let at = random.below(parts.len());
    match random.below(7) {
        0 => cut_off(random, &mut parts[at]["data"]),
        1 => drop(parts.remove(at)),
        2 => {
            let mut copy = parts[at].clone();
            copy["id"] = json!(format!("prt_copy_{}", parts.len()));
            parts.insert(random.below(parts.len()), copy);
        }
        3 => {
            let other = random.below(parts.len());
            parts.swap(at, other);
        }
        4 => {
            let status = *random.pick(&["pending", "running", "completed", "error", "x"]);
            if parts[at]["data"]["state"].is_object() {
                parts[at]["data"]["state"]["status"] = json!(status);
            }
        }
        5 => {
            if parts[at]["data"]["callID"].is_string() {
                let id = *random.pick(&["call_1", "", "other", "x y"]);
                parts[at]["data"]["callID"] = json!(id);
            }
        }
        _ => other_value(random, &mut parts[at]["data"]),
    }
}

/// Ends a payload early, as a write that did not reach the disk.
fn cut_off(random: &mut Random, data: &mut Value) {
    let text = data.to_string();
    let mut end = random.below(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    *data = json!({"$text": &text[..end]});
}

/// Changes the id of a call or of a result.
fn other_id(random: &mut Random, data: &mut Value) {
    let id = *random.pick(&["call_1", "", "other", "x y"]);
    for part in data.as_array_mut().into_iter().flatten() {
        let body = if part["data"].is_object() { &mut part["data"] } else { part };
        for key in ["id", "tool_call_id"] {
            if body[key].is_string() {
                body[key] = json!(id);
                return;
            }
        }
    }
}

/// Replaces a value anywhere in a payload by one of another type.
fn other_value(random: &mut Random, value: &mut Value) {
    let count = value.as_array().map_or(0, Vec::len) + value.as_object().map_or(0, |it| it.len());
    if count == 0 || random.chance(20) {
        *value = random
            .pick(&[json!(null), json!(7), json!("x"), json!([]), json!({}), json!(true)])
            .clone();
        return;
    }
    let at = random.below(count);
    match value {
        Value::Array(list) => other_value(random, &mut list[at]),
        Value::Object(fields) => {
            fields.values_mut().skip(at).take(1).for_each(|value| other_value(random, value));
        }
        _ => {}
    }
}
