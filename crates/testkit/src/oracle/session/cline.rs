//! Cline, Roo Code and Kilo Code: one list of messages, some of them hidden.

use serde_json::{Value, json};

use super::{SessionConversation, lines::without_strays};

/// The elements of the list, as far as they can be read.
pub(super) fn elements(bytes: &[u8]) -> Vec<Value> {
    let mut bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let readable = without_strays(&bytes);
    let is_one_line = !bytes.trim_ascii().contains(&b'\n');
    if is_one_line && serde_json::from_slice::<Value>(&readable).is_ok() {
        bytes = readable;
    }
    let text = String::from_utf8_lossy(&bytes);
    // Newer versions of Cline write an object around the list.
    if let Ok(object) = serde_json::from_str::<serde_json::Map<String, Value>>(&text) {
        return object["messages"].as_array().cloned().unwrap_or_default();
    }
    let text = match text.split_once("\"messages\": ").filter(|_| text.starts_with('{')) {
        Some((_, list)) => list.to_owned(),
        None => text.into_owned(),
    };
    if let Ok(list) = serde_json::from_str(&text) {
        return list;
    }
    // A truncated list ends after one of its objects.
    let ends = text.match_indices('}').rev();
    let whole = ends.filter_map(|(at, _)| serde_json::from_str(&format!("{}]", &text[..=at])).ok());
    whole.into_iter().next().unwrap_or_default()
}

pub(super) fn view(bytes: &[u8]) -> SessionConversation {
    let elements = elements(bytes);
    let fresh = |element: &Value| element["isSummary"] == true && element["role"] == "user";
    let start = elements.iter().rposition(fresh).unwrap_or(0);
    let exists = |mark: &str, id: &str, name: &Value| {
        let named = |element: &&Value| element[mark] == true && element[id] == *name;
        name.is_string() && elements.iter().any(|element| named(&element))
    };
    let mut conversation = SessionConversation::default();
    for (at, element) in elements.iter().enumerate().skip(start) {
        let hidden = exists("isTruncationMarker", "truncationId", &element["truncationParent"])
            || exists("isSummary", "condenseId", &element["condenseParent"]);
        let is_message = element["role"].is_string() && element.get("content").is_some();
        if is_message && !hidden {
            let content = &element["content"];
            conversation.push(at, json!({"role": element["role"], "content": content}));
        }
    }
    conversation
}
