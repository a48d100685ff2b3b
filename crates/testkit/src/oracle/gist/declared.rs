//! The tools that a request declares.

use serde_json::Value;

use super::super::reading::{field, text};
use crate::dialect::TestFormat;

/// The names of the client tools, in order.
pub fn declared(format: &str, document: &Value) -> Vec<String> {
    let Some(format) = TestFormat::named(format) else { return Vec::new() };
    let tools = match format {
        TestFormat::Bedrock => field(document, "toolConfig").and_then(|it| field(it, "tools")),
        TestFormat::Chat
        | TestFormat::Responses
        | TestFormat::Anthropic
        | TestFormat::Gemini
        | TestFormat::Interactions => field(document, "tools"),
    };
    let tools = tools.into_iter().flat_map(|tools| one_or_more(format, tools));
    let name = |tool: Option<&Value>| tool.and_then(|tool| text(tool, "name")).map(str::to_owned);
    match format {
        TestFormat::Chat => {
            let inner = |tool| field(tool, "function").or_else(|| field(tool, "custom"));
            tools.filter_map(|tool| name(inner(tool))).collect()
        }
        TestFormat::Responses | TestFormat::Interactions => {
            let ours = |tool: &&Value| matches!(text(tool, "type"), Some("function" | "custom"));
            tools.filter(ours).filter_map(|tool| name(Some(tool))).collect()
        }
        TestFormat::Anthropic => {
            let ours = |tool: &&Value| matches!(text(tool, "type"), None | Some("custom"));
            tools.filter(ours).filter_map(|tool| name(Some(tool))).collect()
        }
        TestFormat::Gemini => tools
            .filter_map(|tool| field(tool, "functionDeclarations"))
            .flat_map(|functions| one_or_more(format, functions))
            .filter_map(|tool| name(Some(tool)))
            .collect(),
        TestFormat::Bedrock => tools.filter_map(|tool| name(field(tool, "toolSpec"))).collect(),
    }
}

/// The elements of a list. In Gemini an object may stand in place of a list.
fn one_or_more(format: TestFormat, value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        Value::Object(_) if format == TestFormat::Gemini => std::slice::from_ref(value),
        _ => &[],
    }
}
