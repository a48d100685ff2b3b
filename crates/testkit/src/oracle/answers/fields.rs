//! Access to fields of JSON values.

use serde_json::Value;

/// The text under a key, unless it is empty.
pub(super) fn said(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The text under a key; empty if it is missing.
pub(super) fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The number under a key; zero if it is missing.
pub(super) fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// The list under a key; empty if it is missing.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Removes keys whose values are null.
pub(super) fn tidy(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// Whether the value is a text.
pub(super) fn is_text(value: &Value) -> bool {
    value.is_string()
}
