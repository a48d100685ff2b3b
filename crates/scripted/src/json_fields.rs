//! Access to fields of a parsed request.

use serde_json::Value;

/// The text under a key.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// The elements of the list under a key; empty if it is not a list.
pub(crate) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The list under a key, or the only element that stands in its place, as Gemini accepts it. Empty if
/// there is neither.
pub(crate) fn one_or_more<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    match value.get(key) {
        Some(only @ Value::Object(_)) => std::slice::from_ref(only),
        Some(_) | None => list(value, key),
    }
}

/// The value under a key, if it is present and not null.
pub(crate) fn non_null<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// The text of a content, which is a string or a list of blocks with `text`.
pub(crate) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| text(block, "text")).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Whether a name has only letters, digits and these characters.
pub(crate) fn has_only(name: &str, extra: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || extra.contains(letter))
}

/// The version in a name like `claude-opus-4-6` or `claude-3-7-sonnet-20250219`.
pub(crate) fn claude_version(model: &str) -> Option<(u32, u32)> {
    let (_, behind) = model.split_once("claude")?;
    let mut numbers = Vec::new();
    for part in behind.split(['-', '.', '@', ':', '_', '/']) {
        // Longer numbers are dates.
        if part.len() <= 2
            && let Ok(number) = part.parse::<u32>()
        {
            numbers.push(number);
        }
    }
    match numbers.as_slice() {
        [] => None,
        [major] => Some((*major, 0)),
        [major, minor, ..] => Some((*major, *minor)),
    }
}
