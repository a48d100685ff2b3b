//! One setting at a time.

use serde_json::json;

use super::*;

mod choices;
mod reasoning;
mod sampling;
mod shapes;
mod kinds;
mod whom;

/// A row: a request of a format, its conversion to another format, and the losses.
type Row = (Format, Value, Format, Value, &'static str);

/// Two tools, in every format.
fn tools(format: Format) -> Value {
    let one = |name: &str| match format {
        Chat => json!({"type": "function", "function": {"name": name, "parameters": nothing()}}),
        Responses => {
            json!({"type": "function", "name": name, "parameters": nothing(), "strict": false})
        }
        Anthropic => json!({"name": name, "input_schema": nothing()}),
        Gemini => json!({"name": name, "parametersJsonSchema": nothing()}),
        Format::GeminiInteractions => {
            json!({"type": "function", "name": name, "parameters": nothing()})
        }
        Bedrock => json!({"toolSpec": {"name": name, "inputSchema": {"json": nothing()}}}),
    };
    json!([one("f"), one("g")])
}

/// The schema of a tool without parameters.
fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

/// A request with two tools, and other fields.
fn with_tools(format: Format, fields: Value) -> Value {
    let mut request = match format {
        Chat | Responses | Anthropic | Format::GeminiInteractions => {
            json!({"tools": tools(format)})
        }
        Gemini => json!({"tools": [{"functionDeclarations": tools(format)}]}),
        Bedrock => json!({"toolConfig": {"tools": tools(format)}}),
    };
    merge(&mut request, fields);
    request
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Checks rows. The rows omit fields that are only written because the format requires them.
fn check(rows: Vec<Row>, with_tools_too: bool) {
    for (from, fields, to, expected, lost) in rows {
        let with_optional_tools = |format, fields: Value| match with_tools_too {
            true => with_tools(format, fields),
            false => fields,
        };
        let source = with_optional_tools(from, fields).to_string();
        let (mut found, losses) = converted(&source, from, to);
        let mut expected = with_optional_tools(to, expected);
        for (format, key, default) in
            [(Anthropic, "max_tokens", json!(4096)), (Responses, "store", json!(false))]
        {
            if to == format
                && from != format
                && expected.get(key).is_none()
                && found[key] == default
            {
                found.as_object_mut().expect("an object").remove(key);
            }
        }
        if expected.is_null() {
            expected = json!({});
        }
        let lost: Vec<&str> =
            lost.split('|').map(str::trim).filter(|loss| !loss.is_empty()).collect();
        let way = format!("{} to {}: {source}", from.name(), to.name());
        assert_eq!(found, expected, "{way}");
        assert_eq!(losses, lost, "{way}");
    }
}
