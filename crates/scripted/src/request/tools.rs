//! The tools of a request, and whether they are to be called.

use foxwedge_core::Wire;
use serde_json::Value;

use crate::tree::{given, list, text};

/// A tool that the client answers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    /// What its arguments look like.
    pub(crate) schema: Value,
}

/// What a tool takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// A JSON object.
    Function,
    /// Any text.
    Custom,
}

/// Whether tools are to be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// As the model likes.
    Auto,
    /// Not at all.
    None,
    /// At least one.
    Any,
    /// This one.
    Named(String),
}

/// Reads the tools and the choice. A choice among some of the tools leaves out the others.
pub(super) fn read(wire: Wire, request: &Value) -> (Vec<Tool>, Choice) {
    let mut tools: Vec<Tool> = match wire {
        Wire::Gemini => list(request, "tools")
            .iter()
            .flat_map(|tool| {
                let camel = list(tool, "functionDeclarations");
                if camel.is_empty() { list(tool, "function_declarations") } else { camel }
            })
            .filter_map(|tool| {
                let schema = ["parameters", "parametersJsonSchema", "parameters_json_schema"];
                function(tool, schema.iter().find_map(|key| given(tool, key)))
            })
            .collect(),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Bedrock => {
            list(request, "tools").iter().filter_map(|one| tool(wire, one)).collect()
        }
    };
    let (choice, allowed) = choice(wire, request);
    if let Some(allowed) = allowed {
        tools.retain(|tool| allowed.contains(&tool.name));
    }
    (tools, choice)
}

fn function(tool: &Value, schema: Option<&Value>) -> Option<Tool> {
    let name = text(tool, "name")?.to_owned();
    Some(Tool { name, sort: Sort::Function, schema: schema.cloned().unwrap_or(Value::Null) })
}

fn custom(tool: &Value) -> Option<Tool> {
    let name = text(tool, "name")?.to_owned();
    Some(Tool { name, sort: Sort::Custom, schema: Value::Null })
}

fn tool(wire: Wire, tool: &Value) -> Option<Tool> {
    match (wire, text(tool, "type")) {
        (Wire::OpenaiChat, Some("custom")) => custom(tool.get("custom")?),
        (Wire::OpenaiChat, Some("function")) => {
            let body = tool.get("function")?;
            function(body, given(body, "parameters"))
        }
        (Wire::OpenaiResponses, Some("custom")) => custom(tool),
        (Wire::OpenaiResponses, Some("function")) => function(tool, given(tool, "parameters")),
        (Wire::Anthropic, None | Some("custom")) => function(tool, given(tool, "input_schema")),
        // Tools that the provider runs itself.
        (_, _) => None,
    }
}

fn choice(wire: Wire, request: &Value) -> (Choice, Option<Vec<String>>) {
    if wire == Wire::Gemini {
        return gemini(request);
    }
    let Some(choice) = given(request, "tool_choice") else { return (Choice::Auto, None) };
    if let Some(word) = choice.as_str() {
        return (mode(word), None);
    }
    let name = || {
        let inside = ["function", "custom"].iter().find_map(|key| text(choice.get(key)?, "name"));
        inside.or_else(|| text(choice, "name")).map(str::to_owned)
    };
    match text(choice, "type") {
        Some("tool" | "function" | "custom") => (name().map_or(Choice::Any, Choice::Named), None),
        Some("allowed_tools") => {
            let body = choice.get("allowed_tools").unwrap_or(choice);
            let names = list(body, "tools").iter().filter_map(|tool| {
                let inside = tool.get("function").and_then(|inside| text(inside, "name"));
                inside.or_else(|| text(tool, "name")).map(str::to_owned)
            });
            (mode(text(body, "mode").unwrap_or("auto")), Some(names.collect()))
        }
        Some(word) => (mode(word), None),
        None => (Choice::Auto, None),
    }
}

fn mode(word: &str) -> Choice {
    match word {
        "required" | "any" => Choice::Any,
        "none" => Choice::None,
        _ => Choice::Auto,
    }
}

fn gemini(request: &Value) -> (Choice, Option<Vec<String>>) {
    let config = given(request, "toolConfig").or_else(|| given(request, "tool_config"));
    let config = config.and_then(|config| {
        given(config, "functionCallingConfig").or_else(|| given(config, "function_calling_config"))
    });
    let Some(config) = config else { return (Choice::Auto, None) };
    let names = |key: &str| -> Vec<String> {
        list(config, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut allowed = names("allowedFunctionNames");
    allowed.extend(names("allowed_function_names"));
    let allowed = (!allowed.is_empty()).then_some(allowed);
    match text(config, "mode") {
        Some("ANY") => (Choice::Any, allowed),
        Some("NONE") => (Choice::None, None),
        _ => (Choice::Auto, allowed),
    }
}
