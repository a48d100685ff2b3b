//! Gemini accepts one object where its documentation has a list. Clients that were written after
//! Google's samples send it.

use serde_json::Value;

use crate::random::Random;

/// Replaces some lists of one object by that object. Only in requests and histories of Gemini:
/// session files have lists.
pub fn spell_single_objects(random: &mut Random, format: &str, document: &mut Value) {
    if format != "gemini" || !random.chance(30) {
        return;
    }
    let list = match document.is_array() {
        true => Some(&mut *document),
        false => document.get_mut("contents"),
    };
    for message in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if random.chance(50) {
            unwrap_only(message.get_mut("parts"));
        }
    }
    if random.chance(50) {
        unwrap_only(document.pointer_mut("/systemInstruction/parts"));
    }
    if random.chance(50) {
        unwrap_only(document.get_mut("contents"));
    }
}

/// Replaces a list by its only element, if that is an object.
fn unwrap_only(list: Option<&mut Value>) {
    let Some(value) = list else { return };
    if let Some([only @ Value::Object(_)]) = value.as_array_mut().map(Vec::as_mut_slice) {
        *value = only.take();
    }
}
