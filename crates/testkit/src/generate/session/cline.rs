//! Files as Cline and Roo Code write them: one list.

use serde_json::{Value, json};

use super::{WrittenSession, scribe::blocks};
use crate::random::Random;

/// The elements of the list.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut records: Vec<Value> = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    let hides = random.chance(40);
    for message in list {
        if hides && random.chance(10) {
            hide(random, &mut records);
        }
        let mut element = message.clone();
        element["ts"] = json!(1_794_709_177_000_u64 + records.len() as u64);
        if random.chance(30) {
            element["modelInfo"] = json!({"modelId": "mock", "providerId": "mock"});
        }
        records.push(element);
        messages.push(json!({"role": message["role"], "content": blocks(message)}));
        let calls = blocks(message).iter().any(|block| block["type"] == "tool_use");
        if hides && random.chance(4) && message["role"] == "assistant" && !calls {
            summarise(&mut records, &mut messages);
        }
    }
    WrittenSession { records, messages, siblings: false }
}

/// Messages that a truncation hides, and its marker.
fn hide(random: &mut Random, records: &mut Vec<Value>) {
    let number = records.len();
    let id = format!("cut_{number}");
    let call = format!("gone_{number}");
    let calls = json!([{"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
    let answer = json!([{"type": "tool_result", "tool_use_id": call, "content": "gone"}]);
    let hidden = [
        json!({"role": "assistant", "content": calls, "truncationParent": id, "ts": 1}),
        json!({"role": "user", "content": answer, "truncationParent": id, "ts": 2}),
    ];
    records.extend(hidden.into_iter().take(1 + random.below(2)));
    // The marker is not part of the history. Roo sends it, so a summary hides it here.
    records.push(json!({"role": "user", "content": "[Earlier messages are hidden]", "ts": 3,
        "isTruncationMarker": true, "truncationId": id, "truncationParent": id}));
}

/// A summary: everything before it stays in the file and is not sent.
fn summarise(records: &mut Vec<Value>, messages: &mut Vec<Value>) {
    let number = records.len();
    let id = format!("sum_{number}");
    for record in records.iter_mut().filter(|record| record.get("condenseParent").is_none()) {
        record["condenseParent"] = json!(id);
    }
    let content = json!([{"type": "text", "text": format!("summary {number}.")}]);
    records.push(json!({"role": "user", "content": content, "ts": 4, "isSummary": true,
        "condenseId": id}));
    *messages = vec![json!({"role": "user", "content": content})];
}

/// The list as a file; `torn` truncates it.
pub(super) fn joined(random: &mut Random, records: &[Value], torn: bool) -> Vec<u8> {
    let list = Value::Array(records.to_vec());
    let text = match random.below(3) {
        0 => list.to_string(),
        1 => {
            let elements = super::bytes::lines(random, records);
            String::from_utf8_lossy(&[b"[\n", &*elements.join(&b",\n"[..]), b"]"].concat()).into()
        }
        _ => format!("{list:#}\n"),
    };
    // Newer versions of Cline write an object around the list.
    let text = match random.chance(25) {
        true => format!(
            "{{\"version\": 1, \"agent\": \"lead\", \"sessionId\": \"s\", \"messages\": {},\n\"system_prompt\": \"Be [kind].\"}}",
            text.trim_end()
        ),
        false => text,
    };
    let mut bytes = text.into_bytes();
    if torn && !bytes.is_empty() {
        bytes.truncate(1 + random.below(bytes.len()));
    }
    bytes
}
