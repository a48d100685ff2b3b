//! Text and arguments in the JSON of a part, whatever its format.

use foxwedge_json::replace_surrogates;
use serde_json::Value;

/// Fields of a result that say what it is, not what the tool returned.
const DESCRIPTIVE: [&str; 12] = [
    "type",
    "format",
    "media_type",
    "mediaType",
    "mimeType",
    "data",
    "bytes",
    "url",
    "image_url",
    "id",
    "cache_control",
    "detail",
];

/// Parses JSON; half characters become the replacement character.
pub(crate) fn parse_lenient(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let whole: String = replace_surrogates(text, true).collect();
        serde_json::from_str(&whole).unwrap_or(Value::Null)
    })
}

/// The text of a text part: a string, or an object around one.
pub(crate) fn part_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => ["text", "refusal", "content"]
            .iter()
            .find_map(|key| other.get(key)?.as_str())
            .map_or_else(|| leaves(other).join("\n"), str::to_owned),
    }
}

/// What a tool returned, as lines: every string and number in it. A string that holds a JSON object
/// or list counts as that, because some formats require an object.
pub(crate) fn result_text(value: &Value) -> String {
    leaves(value).join("\n")
}

fn leaves(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(flag) => vec![flag.to_string()],
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => leaves(&inner),
            _ if text.trim().is_empty() => Vec::new(),
            _ => vec![text.clone()],
        },
        Value::Array(elements) => elements.iter().flat_map(leaves).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !DESCRIPTIVE.contains(&key.as_str()))
            .flat_map(|(_, value)| leaves(value))
            .collect(),
    }
}

/// The arguments of a call. A string that holds an object counts as that object; what is no object
/// is `null`, because a repair may have to change it.
pub(crate) fn call_arguments(value: &Value) -> Value {
    let wrapped = ["functionCall", "function_call", "toolUse", "function", "custom"];
    let inner = wrapped.iter().find_map(|key| value.get(key)).unwrap_or(value);
    let names = ["arguments", "input", "args", "action", "operation"];
    match names.iter().find_map(|key| inner.get(key)) {
        Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        other => other.filter(|arguments| arguments.is_object()).cloned(),
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_the_same_text_in_every_form() {
        let forms = [
            json!("72 F"),
            json!([{"type": "text", "text": "72 F"}]),
            json!({"output": "72 F"}),
            json!("{\"output\":\"72 F\"}"),
            json!({"type": "text", "value": "72 F"}),
        ];
        for form in forms {
            assert_eq!(result_text(&form), "72 F", "{form}");
        }
    }

    #[test]
    fn arguments_are_found_in_every_format() {
        let expected = json!({"at": 1});
        let forms = [
            json!({"id": "x", "function": {"name": "f", "arguments": "{\"at\":1}"}}),
            json!({"type": "tool_use", "input": {"at": 1}}),
            json!({"functionCall": {"name": "f", "args": {"at": 1}}}),
            json!({"function_call": {"name": "f", "args": {"at": 1}}}),
            json!({"toolUse": {"name": "f", "input": {"at": 1}}}),
            json!({"type": "function_call", "arguments": "{\"at\":1}"}),
        ];
        for form in forms {
            assert_eq!(call_arguments(&form), expected, "{form}");
        }
        assert_eq!(call_arguments(&json!({"arguments": "{\"at\""})), Value::Null);
    }
}
