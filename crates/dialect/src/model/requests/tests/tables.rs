//! One setting at a time.

use serde_json::json;

use super::*;

mod choices;
mod reasoning;
mod sampling;
mod shapes;
mod kinds;
mod whom;

/// A row: a request of a format, and what it becomes in another, with what is lost.
type Row = (Format, Value, Format, Value, &'static str);

/// Two tools, in every format.
fn tools(wire: Format) -> Value {
    let one = |name: &str| match wire {
        Chat => json!({"type": "function", "function": {"name": name, "parameters": nothing()}}),
        Responses => {
            json!({"type": "function", "name": name, "parameters": nothing(), "strict": false})
        }
        Anthropic => json!({"name": name, "input_schema": nothing()}),
        Gemini => json!({"name": name, "parametersJsonSchema": nothing()}),
        Bedrock => json!({"toolSpec": {"name": name, "inputSchema": {"json": nothing()}}}),
    };
    json!([one("f"), one("g")])
}

/// The schema of a tool that takes nothing.
fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

/// A request with two tools, and other fields.
fn with_tools(wire: Format, fields: Value) -> Value {
    let mut request = match wire {
        Chat | Responses | Anthropic => json!({"tools": tools(wire)}),
        Gemini => json!({"tools": [{"functionDeclarations": tools(wire)}]}),
        Bedrock => json!({"toolConfig": {"tools": tools(wire)}}),
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

/// Checks rows. What only stands there because the format wants it is left out of them.
fn check(rows: Vec<Row>, with_tools_too: bool) {
    for (from, fields, to, expected, lost) in rows {
        let around = |wire, fields: Value| match with_tools_too {
            true => with_tools(wire, fields),
            false => fields,
        };
        let source = around(from, fields).to_string();
        let (mut found, losses) = converted(&source, from, to);
        let mut expected = around(to, expected);
        for (wire, key, idle) in
            [(Anthropic, "max_tokens", json!(4096)), (Responses, "store", json!(false))]
        {
            if to == wire && from != wire && expected.get(key).is_none() && found[key] == idle {
                found.as_object_mut().expect("an object").remove(key);
            }
        }
        if expected.is_null() {
            expected = json!({});
        }
        let lost: Vec<&str> =
            lost.split('|').map(str::trim).filter(|one| !one.is_empty()).collect();
        let way = format!("{} to {}: {source}", from.name(), to.name());
        assert_eq!(found, expected, "{way}");
        assert_eq!(losses, lost, "{way}");
    }
}
