//! Shrinks a document that breaks a law: message by message, block by block.

use foxwedge_core::Format;
use serde_json::Value;

fn list_of(document: &mut Value) -> Option<&mut Vec<Value>> {
    match document {
        Value::Array(list) => Some(list),
        Value::Object(object) => {
            let key = ["messages", "input", "contents"]
                .into_iter()
                .find(|key| object.contains_key(*key))?;
            object.get_mut(key)?.as_array_mut()
        }
        _ => None,
    }
}

/// The smallest document found that still breaks the law.
pub(super) fn smallest(format: Format, document: String, broken: &dyn Fn(&str) -> bool) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&document) else { return document };
    let breaks = |document: &Value| broken(&document.to_string());
    if !breaks(&value) {
        return document; // The law depends on its JSON notation.
    }
    let mut again = true;
    while again {
        again = false;
        let length = list_of(&mut value).map_or(0, |list| list.len());
        for at in (0..length).rev() {
            let mut smaller = value.clone();
            if let Some(list) = list_of(&mut smaller) {
                list.remove(at);
            }
            if breaks(&smaller) {
                value = smaller;
                again = true;
                break;
            }
        }
        again |= smaller_blocks(format, &mut value, &breaks);
    }
    for key in keys(&value) {
        let mut smaller = value.clone();
        if let Some(object) = smaller.as_object_mut() {
            object.remove(&key);
        }
        if breaks(&smaller) {
            value = smaller;
        }
    }
    value.to_string()
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default()
}

fn smaller_blocks(format: Format, value: &mut Value, breaks: &dyn Fn(&Value) -> bool) -> bool {
    let key = match format {
        Format::Gemini => "parts",
        _ => "content",
    };
    let length = list_of(value).map_or(0, |list| list.len());
    for at in 0..length {
        for key in [key, "tool_calls"] {
            let blocks = list_of(value)
                .and_then(|list| list[at].get(key).and_then(Value::as_array).map(Vec::len))
                .unwrap_or(0);
            for block in (0..blocks).rev() {
                let mut smaller = value.clone();
                let list =
                    list_of(&mut smaller).and_then(|list| list[at].get_mut(key)?.as_array_mut());
                if let Some(list) = list {
                    list.remove(block);
                }
                if breaks(&smaller) {
                    *value = smaller;
                    return true;
                }
            }
        }
    }
    false
}
