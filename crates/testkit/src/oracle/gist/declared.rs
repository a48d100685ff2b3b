//! The tools that a request declares.

use serde_json::Value;

use super::super::reading::{field, text};
use crate::dialect::Dialect;

/// The names of the tools that the client runs, in order.
pub fn declared(dialect: &str, document: &Value) -> Vec<String> {
    let Some(dialect) = Dialect::named(dialect) else { return Vec::new() };
    let tools = match dialect {
        Dialect::Bedrock => field(document, "toolConfig").and_then(|it| field(it, "tools")),
        Dialect::Chat | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => {
            field(document, "tools")
        }
    };
    let tools = tools.and_then(Value::as_array).into_iter().flatten();
    let name = |tool: Option<&Value>| tool.and_then(|tool| text(tool, "name")).map(str::to_owned);
    match dialect {
        Dialect::Chat => {
            let inner = |tool| field(tool, "function").or_else(|| field(tool, "custom"));
            tools.filter_map(|tool| name(inner(tool))).collect()
        }
        Dialect::Responses => {
            let ours = |tool: &&Value| matches!(text(tool, "type"), Some("function" | "custom"));
            tools.filter(ours).filter_map(|tool| name(Some(tool))).collect()
        }
        Dialect::Anthropic => {
            let ours = |tool: &&Value| matches!(text(tool, "type"), None | Some("custom"));
            tools.filter(ours).filter_map(|tool| name(Some(tool))).collect()
        }
        Dialect::Gemini => tools
            .filter_map(|tool| field(tool, "functionDeclarations")?.as_array())
            .flatten()
            .filter_map(|tool| name(Some(tool)))
            .collect(),
        Dialect::Bedrock => tools.filter_map(|tool| name(field(tool, "toolSpec"))).collect(),
    }
}
