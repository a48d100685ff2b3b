//! Reads the tool list of a server. The list is not trusted: a tool that cannot be offered to a
//! model is left out, with a note.

use std::collections::BTreeSet;

use foxwedge_tools::ToolEffect;
use serde_json::{Map, Value, json};

use super::{McpServer, tool_names::model_tool_names};

/// Maximum tools per server.
const MAX_TOOLS: usize = 512;
/// Maximum bytes of a description.
const MAX_DESCRIPTION: usize = 16 << 10;
/// Maximum bytes of a schema, as JSON.
const MAX_SCHEMA: usize = 128 << 10;
/// Maximum bytes of all descriptions and schemas together.
const MAX_TOTAL_BYTES: usize = 4 << 20;
/// Maximum notes about tools that were left out; further ones are only counted.
const MAX_NOTES: usize = 16;
/// Keywords that some providers reject at the top level of a schema.
const CHOICE_KEYWORDS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// A tool that can be offered.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ListedTool {
    /// Its name at the server.
    pub(super) server_name: String,
    /// Its name for the model.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) effect: ToolEffect,
}

/// Collects tools page by page and keeps those that can be offered.
#[derive(Debug)]
pub(super) struct ToolListReader<'s> {
    server: &'s McpServer,
    tools: Vec<ListedTool>,
    seen: BTreeSet<String>,
    bytes: usize,
    notes: Vec<String>,
    more_notes: usize,
    too_many: usize,
}

impl<'s> ToolListReader<'s> {
    pub(super) fn new(server: &'s McpServer) -> ToolListReader<'s> {
        ToolListReader {
            server,
            tools: Vec::new(),
            seen: BTreeSet::new(),
            bytes: 0,
            notes: Vec::new(),
            more_notes: 0,
            too_many: 0,
        }
    }

    /// Reads one page. Returns whether more may follow.
    pub(super) fn add_page(&mut self, tools: Vec<Value>) -> bool {
        for tool in tools {
            self.add_tool(&tool);
        }
        self.too_many < 100 * MAX_TOOLS
    }

    /// Adds a note.
    pub(super) fn add_note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES { self.notes.push(text) } else { self.more_notes += 1 }
    }

    /// The tools with their names, and the notes about the others.
    pub(super) fn finish(mut self) -> (Vec<ListedTool>, Vec<String>) {
        if self.too_many > 0 {
            let count = self.too_many;
            self.notes.push(format!("{count} more tools are left out: it has too many"));
        }
        if self.more_notes > 0 {
            self.notes.push(format!("{} more tools are left out", self.more_notes));
        }
        let missing = self.server.allow.iter().flatten().filter(|name| !self.seen.contains(*name));
        self.notes.extend(missing.map(|name| format!("it has no tool `{}`", printable_name(name))));
        let own_names: Vec<&str> =
            self.tools.iter().map(|tool| tool.server_name.as_str()).collect();
        let names = model_tool_names(&self.server.name, &own_names);
        for (tool, name) in self.tools.iter_mut().zip(names) {
            tool.name = name;
        }
        (self.tools, self.notes)
    }

    fn add_tool(&mut self, tool: &Value) {
        let Some(own_name) =
            tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
        else {
            return self.add_note("a tool without a name is left out".to_owned());
        };
        let allow = self.server.allow.as_ref();
        if allow.is_some_and(|allow| !allow.iter().any(|name| name == own_name)) {
            return;
        }
        if self.tools.len() >= MAX_TOOLS || self.bytes > MAX_TOTAL_BYTES {
            self.too_many += 1;
            return;
        }
        if !self.seen.insert(own_name.to_owned()) {
            return self
                .add_note(format!("a second tool `{}` is left out", printable_name(own_name)));
        }
        let mut description = tool_description(tool);
        match portable_schema(tool.get("inputSchema"), &mut description) {
            Ok((schema, size)) => {
                self.bytes += size + description.len() + own_name.len();
                let effect = tool_effect(tool, self.server.trust_read_only);
                let own_name = own_name.to_owned();
                self.tools.push(ListedTool {
                    server_name: own_name,
                    name: String::new(),
                    description,
                    schema,
                    effect,
                });
            }
            Err(why) => {
                self.add_note(format!("tool `{}` is left out: {why}", printable_name(own_name)))
            }
        }
    }
}

fn tool_description(tool: &Value) -> String {
    let text = ["description", "title"].iter().find_map(|key| {
        tool.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    });
    truncate_text(text.unwrap_or_default(), MAX_DESCRIPTION)
}

/// A hint of the server counts only if the configuration trusts the server with it.
fn tool_effect(tool: &Value, trusted: bool) -> ToolEffect {
    let hint = tool.pointer("/annotations/readOnlyHint").and_then(Value::as_bool);
    if trusted && hint == Some(true) { ToolEffect::Reads } else { ToolEffect::Writes }
}

/// A schema that every provider accepts, and its size in bytes. Top-level keywords that some
/// providers reject move into the description.
fn portable_schema(
    given: Option<&Value>,
    description: &mut String,
) -> Result<(Value, usize), String> {
    let mut schema = match given {
        Some(Value::Object(schema)) => schema.clone(),
        Some(_) => return Err("its schema is not an object".to_owned()),
        None => return Err("it has no schema".to_owned()),
    };
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => drop(schema.insert("type".to_owned(), json!("object"))),
        Some(_) => return Err("its schema does not describe an object".to_owned()),
    }
    let size = Value::Object(schema.clone()).to_string().len();
    if size > MAX_SCHEMA {
        return Err(format!("its schema has {size} bytes"));
    }
    match schema.get("properties") {
        Some(Value::Object(properties)) => check_property_names(properties)?,
        None => drop(schema.insert("properties".to_owned(), json!({}))),
        Some(_) => return Err("the `properties` of its schema are not an object".to_owned()),
    }
    let choices: Map<String, Value> = CHOICE_KEYWORDS
        .iter()
        .filter_map(|key| schema.remove(*key).map(|value| ((*key).to_owned(), value)))
        .collect();
    if !choices.is_empty() {
        let json = Value::Object(choices).to_string();
        description.push_str("\n\nThe arguments have to fit this JSON schema, too: ");
        description.push_str(&truncate_text(&json, MAX_DESCRIPTION));
    }
    Ok((Value::Object(schema), size))
}

/// Checks argument names. One bad name would make a provider reject the whole request.
fn check_property_names(properties: &Map<String, Value>) -> Result<(), String> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let bad = properties
        .keys()
        .find(|name| name.is_empty() || name.chars().count() > 64 || !name.chars().all(is_legal));
    match bad {
        Some(name) => {
            Err(format!("models cannot use the argument name `{}`", printable_name(name)))
        }
        None => Ok(()),
    }
}

fn truncate_text(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{} [… {} bytes left out]", text.get(..end).unwrap_or_default(), text.len() - end)
}

/// A name that is safe to print in a note.
fn printable_name(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::McpTransport;

    fn server() -> McpServer {
        let how =
            McpTransport::Stdio { command: vec!["x".to_owned()], env: Vec::new(), folder: None };
        McpServer::new("s", how)
    }

    fn read(server: &McpServer, tools: Value) -> (Vec<ListedTool>, Vec<String>) {
        let mut reader = ToolListReader::new(server);
        reader.add_page(tools.as_array().cloned().unwrap_or_default());
        reader.finish()
    }

    #[test]
    fn invalid_tools_are_left_out_with_a_note() {
        let object = json!({"type": "object"});
        let table = [
            (json!({"name": "a", "inputSchema": object}), ""),
            (json!({"name": "a", "inputSchema": {}}), ""),
            (json!({"name": "a"}), "tool `a` is left out: it has no schema"),
            (
                json!({"name": "a", "inputSchema": 7}),
                "tool `a` is left out: its schema is not an object",
            ),
            (
                json!({"name": "a", "inputSchema": {"type": "string"}}),
                "tool `a` is left out: its schema does not describe an object",
            ),
            (
                json!({"name": "a", "inputSchema": {"properties": []}}),
                "tool `a` is left out: the `properties` of its schema are not an object",
            ),
            (
                json!({"name": "a", "inputSchema": {"properties": {"b c": {}}}}),
                "tool `a` is left out: models cannot use the argument name `b c`",
            ),
            (json!({"inputSchema": object}), "a tool without a name is left out"),
            (json!({"name": 7}), "a tool without a name is left out"),
            (json!("a"), "a tool without a name is left out"),
            (
                json!({"name": "a", "inputSchema": {"x": "y".repeat(MAX_SCHEMA)}}),
                "tool `a` is left out: its schema has 131096 bytes",
            ),
        ];
        for (tool, expected) in table {
            let (tools, notes) = read(&server(), json!([tool]));
            assert_eq!(notes.join("\n"), expected);
            assert_eq!(tools.len(), usize::from(expected.is_empty()));
            assert!(tools.iter().all(|tool| tool.schema["type"] == "object"));
        }
    }

    #[test]
    fn a_duplicate_name_is_left_out() {
        let tool = |text: &str| json!({"name": "a", "description": text, "inputSchema": {}});
        let (tools, notes) = read(&server(), json!([tool("one"), tool("two")]));
        assert_eq!((tools.len(), tools[0].description.as_str()), (1, "one"));
        assert_eq!(notes, ["a second tool `a` is left out"]);
    }

    #[test]
    fn tools_over_the_limit_are_left_out_unless_allowed_by_name() {
        let all: Vec<Value> =
            (0..10_000).map(|n| json!({"name": format!("t{n}"), "inputSchema": {}})).collect();
        let (tools, notes) = read(&server(), Value::Array(all.clone()));
        assert_eq!(tools.len(), MAX_TOOLS);
        assert_eq!(notes, ["9488 more tools are left out: it has too many"]);
        let allow = Some(vec!["t9999".to_owned(), "nobody".to_owned()]);
        let (tools, notes) = read(&McpServer { allow, ..server() }, Value::Array(all));
        assert_eq!((tools.len(), tools[0].name.as_str()), (1, "mcp__s__t9999"));
        assert_eq!(notes, ["it has no tool `nobody`"]);
    }

    #[test]
    fn a_read_only_hint_counts_if_the_server_is_trusted() {
        let tool = |hint: Value| json!([{"name": "a", "inputSchema": {}, "annotations": hint}]);
        let table = [
            (json!({"readOnlyHint": true}), true, ToolEffect::Reads),
            (json!({"readOnlyHint": true}), false, ToolEffect::Writes),
            (json!({"readOnlyHint": false}), true, ToolEffect::Writes),
            (json!({"readOnlyHint": "true"}), true, ToolEffect::Writes),
            (json!(null), true, ToolEffect::Writes),
        ];
        for (hint, trust_reading, expected) in table {
            let (tools, _) =
                read(&McpServer { trust_read_only: trust_reading, ..server() }, tool(hint.clone()));
            assert_eq!(tools[0].effect, expected, "{hint} {trust_reading}");
        }
    }

    #[test]
    fn top_level_choices_move_into_the_description() {
        let given = json!([{"name": "a", "description": "does it", "inputSchema": {
            "properties": {"x": {}, "y": {}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}],
        }}]);
        let (tools, _) = read(&server(), given);
        assert_eq!(tools[0].schema, json!({"type": "object", "properties": {"x": {}, "y": {}}}));
        let json = r#"{"anyOf":[{"required":["x"]},{"required":["y"]}]}"#;
        assert!(tools[0].description.starts_with("does it\n\n"), "{}", tools[0].description);
        assert!(tools[0].description.ends_with(json), "{}", tools[0].description);
    }
}
