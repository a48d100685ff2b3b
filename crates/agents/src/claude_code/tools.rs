//! The client's tools in the form for the agent.
//!
//! The agent drops all tools of a server if it rejects one schema, and it cuts long descriptions.
//! So schemas are normalized, and the rest of a long description goes into the instructions.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::PREFIX;
use super::content::text;
use crate::ToolNameTable;

/// Maximum length of a description in UTF-16 units; versions of the agent differ.
const MAX_DESCRIPTION: usize = 2_000;

/// Maximum length of a tool result in characters; the agent allows no more.
const MAX_RESULT: u64 = 500_000;

/// The tools of a request: their names, the list for the agent, and what did not fit into it.
pub(super) struct AgentToolList {
    pub names: ToolNameTable,
    pub list: Vec<Value>,
    pub overflow: String,
}

/// Reads the tools of a request. Tools that the provider runs are skipped: an agent cannot
/// forward them.
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
        // The first declaration of a name counts.
        if !seen.insert(name) {
            continue;
        }
        let agent_name = names.agent_name(name);
        let description = shorten_description(
            agent_name,
            text(tool, "description").unwrap_or_default(),
            &mut rest,
        );
        list.push(json!({
            "name": agent_name,
            "description": description,
            "inputSchema": normalize_schema(tool.get("input_schema")),
            // The agent runs only read-only tools in parallel.
            "annotations": {"readOnlyHint": true},
            "_meta": {"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": MAX_RESULT},
        }));
    }
    AgentToolList { names, list, overflow: rest }
}

/// Cuts the description; the rest goes to the instructions.
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
    rest.push_str(&format!("\n\n# Rest of the description of the tool {name}\n\n{tail}"));
    format!("{head} (Continued in the system prompt.)")
}

/// A schema that the agent accepts: an object, whose properties are objects, without alternatives
/// at the top level. Properties of alternatives are merged into it.
fn normalize_schema(source: Option<&Value>) -> Value {
    let mut schema = source.and_then(Value::as_object).cloned().unwrap_or_default();
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(alternatives)) = schema.remove(keyword) {
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
    let is_valid = schema.get("required").is_none_or(|required| {
        required.as_array().is_some_and(|names| names.iter().all(Value::is_string))
    });
    if !is_valid {
        schema.remove("required");
    }
    Value::Object(schema)
}
