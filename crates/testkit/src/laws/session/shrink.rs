//! Shrinks a session file that breaks a law: line by line, block by block.

use serde_json::Value;

/// The smallest file found that still breaks the same law.
pub(super) fn smallest(bytes: Vec<u8>, breaks: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    if !breaks(&bytes) {
        return bytes; // The broken law is about its generation.
    }
    // A file that is one list is shrunk element by element.
    let whole: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (head, tail) = match whole.is_array() {
        true => ("[", "]"),
        false => ("{\n\"sessionId\": \"s\",\n\"projectHash\": \"p\",\n\"messages\": [", "]\n}"),
    };
    let list = whole.as_array().or_else(|| whole["messages"].as_array());
    let joined = |lines: &[Vec<u8>]| match list {
        Some(_) => [head.as_bytes(), &*lines.join(&b",\n"[..]), tail.as_bytes()].concat(),
        None => lines.join(&b'\n'),
    };
    let mut lines: Vec<Vec<u8>> = match list {
        Some(list) => list.iter().map(|element| element.to_string().into_bytes()).collect(),
        None => bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect(),
    };
    if !breaks(&joined(&lines)) {
        return bytes; // The law depends on its JSON notation.
    }
    let mut again = true;
    while again {
        again = false;
        for at in (0..lines.len()).rev() {
            for smaller in smaller(&lines, at) {
                if breaks(&joined(&smaller)) {
                    lines = smaller;
                    again = true;
                    break;
                }
            }
        }
    }
    joined(&lines)
}

/// Smaller files: without a line, without it but with its children linked to its parent, without
/// one of its blocks or fields.
fn smaller(lines: &[Vec<u8>], at: usize) -> Vec<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let Some(line) = lines.get(at) else { return found };
    let mut without = lines.to_vec();
    without.remove(at);
    let record: Option<Value> = serde_json::from_slice(line).ok();
    for (id, parent) in [("uuid", "parentUuid"), ("id", "parentId")] {
        let Some(id) = record.as_ref().and_then(|record| record[id].as_str()) else { continue };
        let above = record.as_ref().map(|record| record[parent].clone());
        let linked = without.iter().map(|line| match serde_json::from_slice::<Value>(line) {
            Ok(mut child) if child[parent] == id => {
                child[parent] = above.clone().unwrap_or_default();
                child.to_string().into_bytes()
            }
            _ => line.clone(),
        });
        found.push(linked.collect());
    }
    found.push(without);
    // A record that occurs twice must stay the same in both places.
    let twice = lines.iter().filter(|other| *other == line).count() > 1;
    let Some(record) = record.filter(|_| !twice) else { return found };
    let mut with = |record: Value| {
        let mut lines = lines.to_vec();
        lines[at] = record.to_string().into_bytes();
        found.push(lines);
    };
    let count = record["message"]["content"].as_array().map_or(0, Vec::len);
    for block in (0..count).filter(|_| count > 1) {
        let mut smaller = record.clone();
        if let Some(list) = smaller["message"]["content"].as_array_mut() {
            list.remove(block);
        }
        with(smaller);
    }
    for key in ["timestamp", "requestId", "toolUseResult", "sourceToolAssistantUUID", "isSidechain"]
    {
        if record.get(key).is_some() {
            let mut smaller = record.clone();
            smaller.as_object_mut().map(|fields| fields.remove(key));
            with(smaller);
        }
    }
    found
}
