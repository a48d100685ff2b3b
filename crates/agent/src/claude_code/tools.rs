//! The client's tools, as the agent lists them.
//!
//! The agent drops every tool of a server if the schema of one is not to its taste, and cuts
//! descriptions. So schemas are mended, and the rest of a long description goes into the
//! instructions.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::PREFIX;
use super::content::text;
use crate::ToolNameTable;

/// A description has at most this many characters, as JavaScript counts them; versions differ.
const MAX_DESCRIPTION: usize = 2_000;

/// An answer is told whole up to this many characters. The agent allows no more.
const MAX_RESULT: u64 = 500_000;

/// The tools of a request: their names, the list for the agent, and what did not fit into it.
pub(super) struct AgentToolList {
    pub names: ToolNameTable,
    pub list: Vec<Value>,
    pub overflow: String,
}

/// Reads the tools of a request. Those that the provider runs are left out: no agent can pass
/// them on.
pub(super) fn read_tools(body: &Value) -> AgentToolList {
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let clients: Vec<(&str, &Value)> = tools
        .iter()
        .filter(|tool| matches!(text(tool, "type"), None | Some("custom" | "function")))
        .filter_map(|tool| Some((text(tool, "name")?, tool)))
        .collect();
    let names = ToolNameTable::new(clients.iter().map(|(name, _)| *name), 64 - PREFIX.len());
    let mut rest = String::new();
    let mut list: Vec<Value> = Vec::new();
    let mut seen = HashSet::new();
    for (name, tool) in clients {
        // A name that is declared twice is one tool: the first.
        if !seen.insert(name) {
            continue;
        }
        let inner = names.agent_name(name);
        let description =
            shorten_description(inner, text(tool, "description").unwrap_or_default(), &mut rest);
        list.push(json!({
            "name": inner,
            "description": description,
            "inputSchema": normalize_schema(tool.get("input_schema")),
            // Only tools that change nothing are called side by side.
            "annotations": {"readOnlyHint": true},
            "_meta": {"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": MAX_RESULT},
        }));
    }
    AgentToolList { names, list, overflow: rest }
}

/// The description as far as it fits; what does not fit goes to the instructions.
fn shorten_description(name: &str, description: &str, rest: &mut String) -> String {
    let mut units = 0;
    let end = description.char_indices().find_map(|(at, letter)| {
        units += letter.len_utf16();
        (units > MAX_DESCRIPTION).then_some(at)
    });
    let Some((head, tail)) = end.and_then(|end| description.split_at_checked(end)) else {
        return description.to_owned();
    };
    let name = format!("{PREFIX}{name}");
    rest.push_str(&format!("\n\n# The description of the tool {name} goes on\n\n{tail}"));
    format!("{head} (The system prompt says how this goes on.)")
}

/// A schema that the agent takes: an object, whose properties are objects, without alternatives at
/// the top. Alternatives give their properties to it.
fn normalize_schema(given: Option<&Value>) -> Value {
    let mut schema = given.and_then(Value::as_object).cloned().unwrap_or_default();
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for several in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(alternatives)) = schema.remove(several) {
            for alternative in alternatives {
                if let Some(Value::Object(more)) = alternative.get("properties") {
                    for (name, property) in more {
                        properties.entry(name.clone()).or_insert_with(|| property.clone());
                    }
                }
            }
        }
    }
    for property in properties.values_mut() {
        if !property.is_object() {
            *property = json!({});
        }
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    let fine = schema.get("required").is_none_or(|required| {
        required.as_array().is_some_and(|names| names.iter().all(Value::is_string))
    });
    if !fine {
        schema.remove("required");
    }
    Value::Object(schema)
}
